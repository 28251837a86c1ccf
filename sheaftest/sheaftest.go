// Package sheaftest gives each test its own database in memory.
package sheaftest

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

// New returns a client of an empty database that no other test sees. The database is closed when
// the test ends.
func New(tb testing.TB) *mongo.Client {
	tb.Helper()
	return Open(tb, nil).Client()
}

// Open is like New, but returns the database itself, and accepts options. Nil options mean the
// defaults.
func Open(tb testing.TB, opts *sheaf.Options) *sheaf.DB {
	tb.Helper()
	db, err := sheaf.Open(sheaf.Memory, opts)
	if err != nil {
		tb.Fatalf("sheaftest: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("sheaftest: close: %v", err)
		}
	})
	return db
}
