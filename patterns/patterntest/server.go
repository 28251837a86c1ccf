package patterntest

import (
	"context"
	"crypto/rand"
	"os"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/sheaftest"
)

// URIVariable is the environment variable that names the server of the tests. If it is not set, the
// tests use an embedded database in memory.
const URIVariable = "SHEAF_TEST_URI"

// endTime is how long the clean-up of a test may wait for the server.
const endTime = 10 * time.Second

// Server is the server of one test. No other test uses its database.
type Server struct {
	tb      testing.TB
	options func() *options.ClientOptions
	db      *mongo.Database
}

// Start returns a server for a test. The database of the test is dropped when the test ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{tb: tb}
	if uri := os.Getenv(URIVariable); uri != "" {
		s.options = func() *options.ClientOptions { return options.Client().ApplyURI(uri) }
	} else {
		s.options = sheaftest.Open(tb, &sheaf.Options{}).ClientOptions
	}
	s.db = s.Connect(nil).Database("patterns_" + rand.Text())
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		if err := s.db.Drop(ctx); err != nil {
			tb.Errorf("patterntest: drop %s: %v", s.db.Name(), err)
		}
	})
	return s
}

// Open returns the database of a new server. It is for tests that need one database and no further
// clients.
func Open(tb testing.TB) *mongo.Database {
	tb.Helper()
	return Start(tb).Database()
}

// ReplicaSet reports whether the server of a database is a member of a replica set. Other servers
// have no transactions and no change streams.
func ReplicaSet(tb testing.TB, db *mongo.Database) bool {
	tb.Helper()
	var hello struct {
		SetName string `bson:"setName"`
	}
	if err := db.RunCommand(context.Background(), bson.D{{"hello", 1}}).Decode(&hello); err != nil {
		tb.Fatalf("patterntest: ask the server what it is: %v", err)
	}
	return hello.SetName != ""
}

// Database returns the database of the test.
func (s *Server) Database() *mongo.Database { return s.db }

// Connect returns another client. change, which may be nil, can set its options. The client is
// closed when the test ends.
func (s *Server) Connect(change func(*options.ClientOptions)) *mongo.Client {
	s.tb.Helper()
	opts := s.options()
	if change != nil {
		change(opts)
	}
	client, err := mongo.Connect(opts)
	if err != nil {
		s.tb.Fatalf("patterntest: connect: %v", err)
	}
	s.tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		if err := client.Disconnect(ctx); err != nil {
			s.tb.Errorf("patterntest: disconnect: %v", err)
		}
	})
	return client
}
