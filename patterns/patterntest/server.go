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

// URIVariable names the server that tests run on. Without it they run on an embedded database in
// memory.
const URIVariable = "SHEAF_TEST_URI"

// endTime is how long the end of a test may wait for the server.
const endTime = 10 * time.Second

// Server is where a test has its data: in databases that no other test sees.
type Server struct {
	tb      testing.TB
	options func() *options.ClientOptions
	db      *mongo.Database
}

// Start returns a server for a test. What the test leaves there is removed when it ends.
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

// Open is Start for a test that needs one database.
func Open(tb testing.TB) *mongo.Database {
	tb.Helper()
	return Start(tb).Database()
}

// ReplicaSet reports whether the server of a database is a member of a replica set: others have no
// transactions and no change streams.
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

// Database returns the test's database.
func (s *Server) Database() *mongo.Database { return s.db }

// Connect returns a further client, with other options if change is given. It ends with the test.
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
