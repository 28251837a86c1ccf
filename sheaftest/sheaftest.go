// Package sheaftest gives each test a database of its own, in memory.
package sheaftest

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

// New returns a client of an empty database that no other test sees. It ends with the test.
func New(tb testing.TB) *mongo.Client {
	tb.Helper()
	return Open(tb, nil).Client()
}

// Open is New for tests that want the database itself, or other options.
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
