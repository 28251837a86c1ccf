package errortext

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Of prints an error as "error NAME: TEXT". An error that a client would not see begins with
// FAILURE.
func Of(err error) string {
	var user *mongoerr.Error
	if !errors.As(err, &user) {
		return "FAILURE " + err.Error()
	}
	return line(user.Code.Name(), user.Message)
}

func line(name, text string) string {
	return "error " + name + ": " + strings.ReplaceAll(text, "\n", `\n`)
}

// as80 converts error texts of a newer server to the texts of MongoDB 8.0.
func as80() *strings.Replacer {
	return strings.NewReplacer(
		"error enumerating plans for query: ", "error processing query: ",
		"evaluates to a string or regular expression as a second argument", "evaluates to a string as a second argument",
	)
}

// Server is a MongoDB server with a database for the cases. A nil Server is never asked.
type Server struct {
	db      *mongo.Database
	context *regexp.Regexp
}

// executing matches the text that a command puts before the error of its execution.
const executing = `^(Executor error during [a-z]+( command)?(( on namespace)?: \S+)?|PlanExecutor error during aggregation|Plan executor error during [a-zA-Z]+) :: caused by :: `

// Dial connects to the server with a URI. It returns nil for an empty URI. The texts of commands at
// the beginning of an error are removed, because the runner calls code below the commands. also has
// further expressions for such texts.
func Dial(t *testing.T, uri string, also ...string) *Server {
	t.Helper()
	if uri == "" {
		return nil
	}
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	parts := []string{executing}
	for _, expression := range also {
		parts = append(parts, "^"+expression)
	}
	return &Server{db: client.Database("db"), context: regexp.MustCompile(strings.Join(parts, "|"))}
}

// Fill replaces the documents of a collection.
func (s *Server) Fill(t *testing.T, coll string, docs ...bsonx.Doc) {
	t.Helper()
	if s == nil {
		return
	}
	if err := s.db.Collection(coll).Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		if _, err := s.db.Collection(coll).InsertOne(t.Context(), bson.Raw(doc)); err != nil {
			t.Fatalf("%v: %v", bson.Raw(doc), err)
		}
	}
}

// Of prints the server's error for a command. If the server accepts the command or returns another
// code, Of logs that and prints err. The developer decides which of the two is right.
func (s *Server) Of(t *testing.T, err error, command bson.D) string {
	t.Helper()
	if s == nil {
		return Of(err)
	}
	_, refused := s.db.RunCommand(t.Context(), command).Raw()
	code, name, text := failure(refused)
	if text == "" {
		t.Logf("the server accepts what answers %s here: %v", Of(err), command)
		return Of(err)
	}
	if got := mongoerr.CodeOf(err); int(got) != code {
		t.Logf("code %d where the server answers %d: %s\n%v", got, code, text, command)
		return Of(err)
	}
	if ours := mongoerr.Code(code).Name(); ours != name && name != "" {
		t.Errorf("code %d is called %s, not %s", code, name, ours)
	}
	text = as80().Replace(text)
	for before := ""; before != text; {
		before, text = text, s.context.ReplaceAllString(text, "")
	}
	return line(mongoerr.Code(code).Name(), text)
}

// failure returns the error of a command, or of the first statement of a write.
func failure(err error) (int, string, string) {
	var command mongo.CommandError
	if errors.As(err, &command) {
		return int(command.Code), command.Name, command.Message
	}
	var write mongo.WriteException
	if errors.As(err, &write) && len(write.WriteErrors) > 0 {
		return write.WriteErrors[0].Code, "", write.WriteErrors[0].Message
	}
	if err != nil {
		return 0, "", fmt.Sprintf("no answer: %v", err)
	}
	return 0, "", ""
}
