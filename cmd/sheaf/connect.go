package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
)

// connectTimeout is the longest time that a server may take to answer.
const connectTimeout = 10 * time.Second

// targetFlags are the flags that select a collection, on a server or in a directory.
type targetFlags struct {
	uri        string
	dir        string
	database   string
	collection string
}

func (f *targetFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.uri, "uri", "mongodb://127.0.0.1:27017/?directConnection=true",
		"connection string of the server")
	flags.StringVar(&f.dir, "dir", "", "open this data directory directly, instead of connecting to a server")
	flags.StringVarP(&f.database, "db", "d", "test", "database")
	flags.StringVarP(&f.collection, "collection", "c", "", "collection (required)")
	cmd.MarkFlagsMutuallyExclusive("uri", "dir")
	_ = cmd.MarkFlagRequired("collection")
}

// check returns an error for a flag that is set to an empty name. An unset variable in a script
// would otherwise select another target.
func (f *targetFlags) check(given func(flag string) bool) error {
	for flag, value := range map[string]string{
		"uri": f.uri, "dir": f.dir,
		"db": f.database, "collection": f.collection,
	} {
		if value == "" && given(flag) {
			return fmt.Errorf("--%s is empty: give it a value, or leave it out", flag)
		}
	}
	return nil
}

// checkStore returns an error if the directory is missing or empty. A command that only reads must
// not create a store.
func (f *targetFlags) checkStore() error {
	if f.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("--dir %s: %w", f.dir, err)
	}
	if len(entries) == 0 {
		return fmt.Errorf("--dir %s: the directory is empty", f.dir)
	}
	return nil
}

// checkAcknowledged refuses a URI with w=0: the server would not report failed writes.
func (f *targetFlags) checkAcknowledged() error {
	if f.dir != "" {
		return nil
	}
	if concern := options.Client().ApplyURI(f.uri).WriteConcern; concern != nil && !concern.Acknowledged() {
		return fmt.Errorf("--uri %s: with w=0 the server does not say what it has written: leave w=0 out", withoutPassword(f.uri))
	}
	return nil
}

// open returns the collection of the flags, and a function that closes the connection or the store.
func (f *targetFlags) open(ctx context.Context) (*mongo.Collection, func() error, error) {
	if f.dir != "" {
		db, err := sheaf.Open(f.dir, nil)
		if err != nil {
			return nil, nil, explainOpen(f.dir, err)
		}
		return db.Client().Database(f.database).Collection(f.collection), db.Close, nil
	}
	client, err := mongo.Connect(options.Client().SetServerSelectionTimeout(connectTimeout).ApplyURI(f.uri))
	if err != nil {
		return nil, nil, fmt.Errorf("the URI is not valid: %w", err)
	}
	if err := client.Ping(ctx, nil); err != nil && ctx.Err() != nil {
		return nil, nil, errors.Join(ctx.Err(), client.Disconnect(context.WithoutCancel(ctx)))
	} else if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("no server answers at %s; start one with 'sheaf serve', or name a directory with --dir: %w",
			withoutPassword(f.uri), err), client.Disconnect(ctx))
	}
	disconnect := func() error { return client.Disconnect(context.WithoutCancel(ctx)) }
	return client.Database(f.database).Collection(f.collection), disconnect, nil
}

// withoutPassword removes the credentials from a URI: the part between the scheme and the hosts.
func withoutPassword(uri string) string {
	scheme, rest, ok := strings.Cut(uri, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		return scheme + "://***@" + rest[at+1:]
	}
	return uri
}
