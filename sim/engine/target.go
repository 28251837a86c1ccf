package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sheafdb/sheaf"
)

// The targets that are not a URI or a directory.
const (
	Embedded = "embedded" // a store in a temporary directory, in this process
	Memory   = "memory"   // a store in memory, in this process
)

// answerTime is how long a client waits until it has found a server.
const answerTime = 10 * time.Second

// Settings are the settings that all clients of a run share.
type Settings struct {
	Target         string `json:"target"`
	PoolSize       int    `json:"poolSize"`
	WriteConcern   string `json:"writeConcern"`
	Journal        bool   `json:"journal"`
	ReadConcern    string `json:"readConcern"`
	ReadPreference string `json:"readPreference"`
}

// Settings returns the settings of the plan.
func (p *Plan) Settings() Settings {
	s := Settings{
		Target: p.Target, PoolSize: p.PoolSize, WriteConcern: p.WriteConcern, Journal: p.Journal,
		ReadConcern: p.ReadConcern, ReadPreference: p.ReadPreference,
	}
	if s.PoolSize == 0 {
		s.PoolSize = DefaultPoolSize
	}
	if s.Target == "" {
		s.Target = Embedded
	}
	return s
}

// IsURI reports whether the target is a server, which agents can reach, too.
func (s Settings) IsURI() bool {
	return strings.HasPrefix(s.Target, "mongodb://") || strings.HasPrefix(s.Target, "mongodb+srv://")
}

// Name returns the target for reports. It removes the password from a URI.
func (s Settings) Name() string {
	scheme, rest, ok := strings.Cut(s.Target, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		return scheme + "://***@" + rest[at+1:]
	}
	return s.Target
}

// Connect opens the target. The second result closes the connection, and removes temporary files.
func (s Settings) Connect(ctx context.Context) (*mongo.Client, func() error, error) {
	t, err := s.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return t.client, t.close, nil
}

// target is an open target of a run: a server, or an embedded store.
type target struct {
	// client is the users' client: they wait for its connections. watcher has its own connection,
	// so it can always check that the server answers.
	client, watcher *mongo.Client
	end             func() error
}

// open opens the target, and checks that the server answers and that the user has access.
func (s Settings) open(ctx context.Context) (*target, error) {
	o, end, err := s.options()
	if err != nil {
		return nil, err
	}
	t := &target{end: end}
	if t.client, err = mongo.Connect(o); err == nil {
		t.watcher, err = mongo.Connect(o, options.Client().SetMaxPoolSize(1))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sim: the target %s is not valid: %w", s.Name(), err), t.close())
	}
	if err := t.client.Ping(ctx, nil); err != nil {
		return nil, errors.Join(s.explain(err), t.close())
	}
	// Ping needs no privileges, so it shows only that the server answers. This command needs
	// privileges.
	if err := t.client.Database("admin").
		RunCommand(ctx, bson.D{{"listDatabases", 1}, {"nameOnly", true}}).Err(); err != nil {
		return nil, errors.Join(s.explain(err), t.close())
	}
	return t, nil
}

// close closes the connections, and an embedded store.
func (t *target) close() error {
	var errs []error
	for _, client := range []*mongo.Client{t.client, t.watcher} {
		if client != nil {
			errs = append(errs, client.Disconnect(context.Background()))
		}
	}
	return errors.Join(append(errs, t.end())...)
}

// explain adds to an error what the user can do if a server cannot be used.
func (s Settings) explain(err error) error {
	var command mongo.CommandError
	if errors.As(err, &command) && (command.Code == 13 || command.Code == 18) ||
		strings.Contains(err.Error(), "auth error") {
		return fmt.Errorf("sim: %s refuses this user; check the name and the password in the URI: %w", s.Name(), err)
	}
	return fmt.Errorf("sim: no server answers at %s; start one with 'sheaf serve', or leave the target out to run embedded: %w", s.Name(), err)
}

// options returns the options of the client. The second result closes an embedded store.
func (s Settings) options() (*options.ClientOptions, func() error, error) {
	o, end, err := s.base()
	if err != nil {
		return nil, nil, err
	}
	o.SetMaxPoolSize(uint64(s.PoolSize)).SetAppName("sheaf sim")
	if s.WriteConcern != "" || s.Journal {
		o.SetWriteConcern(s.writeConcern())
	}
	if s.ReadConcern != "" {
		o.SetReadConcern(&readconcern.ReadConcern{Level: s.ReadConcern})
	}
	if s.ReadPreference != "" {
		mode, err := readpref.ModeFromString(s.ReadPreference)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("sim: read preference %q: %w", s.ReadPreference, err), end())
		}
		pref, err := readpref.New(mode)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("sim: read preference %q: %w", s.ReadPreference, err), end())
		}
		o.SetReadPreference(pref)
	}
	return o, end, nil
}

func (s Settings) writeConcern() *writeconcern.WriteConcern {
	wc := &writeconcern.WriteConcern{}
	if s.Journal {
		wc.Journal = &s.Journal
	}
	if n, err := strconv.Atoi(s.WriteConcern); err == nil {
		wc.W = n
	} else if s.WriteConcern != "" {
		wc.W = s.WriteConcern
	}
	return wc
}

// base opens the store of an embedded target, or parses the URI.
func (s Settings) base() (*options.ClientOptions, func() error, error) {
	if s.IsURI() {
		return options.Client().SetServerSelectionTimeout(answerTime).ApplyURI(s.Target),
			func() error { return nil }, nil
	}
	dir, remove := s.Target, func() error { return nil }
	switch s.Target {
	case Memory:
		dir = sheaf.Memory
	case Embedded:
		temp, err := os.MkdirTemp("", "sheaf-sim-")
		if err != nil {
			return nil, nil, fmt.Errorf("sim: make a directory for the embedded store: %w", err)
		}
		dir, remove = temp, func() error { return os.RemoveAll(temp) }
	}
	db, err := sheaf.Open(dir, nil)
	if err != nil {
		// err gets no context here: sheaf.Open names the directory if it cannot open it.
		return nil, nil, errors.Join(err, remove())
	}
	return db.ClientOptions(), func() error { return errors.Join(db.Close(), remove()) }, nil
}
