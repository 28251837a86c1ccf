// Package demo connects the example programs to a database, and prints the results of their checks.
package demo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns"
)

// uriVariable is the environment variable with the URI of a server on which the tests run the
// examples. If it is not set, the tests use an embedded store.
const uriVariable = "SHEAF_TEST_URI"

// Program is the body of an example. It gets an empty database, and prints what it does to out. Its
// output is the same in every run.
type Program func(ctx context.Context, out io.Writer, db *mongo.Database) error

// Main runs a program as a command. The program uses the server that the flag -uri names, or else
// an embedded store in memory.
func Main(name string, program Program) {
	uri := flag.String("uri", "",
		"run on this server, in the database example_"+name+", which is emptied first and kept")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *uri, name, os.Stdout, program)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Test runs a program inside a Go Example, which compares the output.
func Test(name string, program Program) {
	if err := run(context.Background(), os.Getenv(uriVariable), name, os.Stdout, program); err != nil {
		fmt.Println(err)
	}
}

// run runs a program on the server at uri. If uri is empty, it runs on an embedded store in memory.
func run(ctx context.Context, uri, name string, out io.Writer, program Program) (err error) {
	client, end, err := connect(uri)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	db := client.Database("example_" + name)
	if err := db.Drop(ctx); err != nil {
		return fmt.Errorf("empty the database: %w", err)
	}
	return program(ctx, out, db)
}

// connect connects to a server, or to an embedded store if uri is empty. No other code depends on
// which of them is used.
func connect(uri string) (client *mongo.Client, end func() error, err error) {
	if uri == "" {
		store, err := sheaf.Open(sheaf.Memory, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("open a store: %w", err)
		}
		return store.Client(), store.Close, nil
	}
	client, err = mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	return client, func() error { return client.Disconnect(context.Background()) }, nil
}

// Checker is a pattern that can check its data. All patterns implement it.
type Checker interface {
	Check(ctx context.Context) ([]patterns.Violation, error)
}

// Check prints how many violations of a pattern's invariants the data has. It returns an error if
// there are any.
func Check(ctx context.Context, out io.Writer, name string, c Checker) error {
	violations, err := c.Check(ctx)
	if err != nil {
		return fmt.Errorf("check %s: %w", name, err)
	}
	fmt.Fprintf(out, "%s: %d violations\n", name, len(violations))
	for _, v := range violations {
		err = errors.Join(err, errors.New(v.String()))
	}
	return err
}
