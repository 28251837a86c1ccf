package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of schemas.
var (
	ErrNotFound = errors.New("schema: there is no such document")
	// ErrNewer is returned for a document that a newer program has written.
	ErrNewer = errors.New("schema: the document is of a newer version than this program knows")
	// ErrVersion is returned for a document whose version is no whole number from zero on.
	ErrVersion = errors.New("schema: the version is not a whole number from zero on")
	// ErrID is returned where a step changes the _id of a document.
	ErrID = errors.New("schema: a step may not change the _id")
	// ErrFailures is returned by Migrate where steps have failed for more documents than
	// Config.MaxFailures.
	ErrFailures = errors.New("schema: too many documents cannot be migrated")
)

// The defaults of a Config.
const (
	DefaultCollection  = "documents"
	DefaultField       = "schema"
	DefaultBatch       = 500
	DefaultMaxFailures = 100
)

// Step brings a document from one version to the next.
type Step struct {
	// Name says what changes, for people.
	Name string
	// Up returns the document in its next form. It depends on nothing but the document, which it
	// may change. It may be executed any number of times for one document, always on its old form.
	Up func(doc bson.D) (bson.D, error)
}

// Config configures a Schema. The zero value works, for documents that have not changed yet.
type Config struct {
	patterns.Env
	// Collection is that of the documents, DefaultCollection if empty. They are the application's.
	Collection string
	// Field of the documents has their version, DefaultField if empty. Documents without it are of
	// version 0.
	Field string
	// Steps bring documents from version 0 to 1, from 1 to 2, and so on. The program's version is
	// their number.
	Steps []Step
	// Batch is how many documents are migrated at once, DefaultBatch if zero.
	Batch int
	// Pause is the time between two batches, in which others have the server.
	Pause time.Duration
	// MaxFailures is how many documents a migration leaves behind before it gives up,
	// DefaultMaxFailures if zero.
	MaxFailures int
}

// Schema is the current form of the documents of a collection. It is safe for concurrent use.
type Schema struct {
	env  patterns.Env
	cfg  Config
	coll *mongo.Collection
}

// New returns the schema of a collection.
func New(db *mongo.Database, cfg Config) (*Schema, error) {
	if cfg.Batch < 0 || cfg.Pause < 0 || cfg.MaxFailures < 0 {
		return nil, fmt.Errorf("schema: batches of %d, pauses of %v, %d failures",
			cfg.Batch, cfg.Pause, cfg.MaxFailures)
	}
	for i, s := range cfg.Steps {
		if s.Up == nil {
			return nil, fmt.Errorf("schema: step %d %q does nothing", i, s.Name)
		}
	}
	if cfg.Collection == "" {
		cfg.Collection = DefaultCollection
	}
	if cfg.Field == "" {
		cfg.Field = DefaultField
	}
	if strings.ContainsAny(cfg.Field, ".$") || cfg.Field == "_id" {
		return nil, fmt.Errorf("schema: versions cannot be in the field %q", cfg.Field)
	}
	if cfg.Batch == 0 {
		cfg.Batch = DefaultBatch
	}
	if cfg.MaxFailures == 0 {
		cfg.MaxFailures = DefaultMaxFailures
	}
	return &Schema{env: cfg.WithDefaults(), cfg: cfg, coll: db.Collection(cfg.Collection)}, nil
}

// Version is that of the documents that this program writes.
func (s *Schema) Version() int { return len(s.cfg.Steps) }

// version returns that of a document.
func (s *Schema) version(doc bson.Raw) (int, error) {
	v, err := doc.LookupErr(s.cfg.Field)
	if err != nil || v.Type == bson.TypeNull {
		return 0, nil // of before there were versions
	}
	n, ok := v.AsInt64OK()
	if f, isDouble := v.DoubleOK(); isDouble {
		n, ok = int64(f), f == float64(int64(f))
	}
	if !ok || n < 0 {
		return 0, fmt.Errorf("%w: %v", ErrVersion, v)
	}
	if n > int64(s.Version()) {
		return 0, fmt.Errorf("%w: %d, and not %d", ErrNewer, n, s.Version())
	}
	return int(n), nil
}

// Upgrade returns a document in its current form, and whether it was in an older one. Nothing is
// read or written: it is for readers of cursors, which take documents of all versions.
func (s *Schema) Upgrade(doc bson.Raw) (_ bson.Raw, old bool, err error) {
	from, err := s.version(doc)
	if err != nil || from == s.Version() {
		return doc, false, err
	}
	var d bson.D
	if err := bson.Unmarshal(doc, &d); err != nil {
		return nil, false, fmt.Errorf("schema: read a document: %w", err)
	}
	for _, step := range s.cfg.Steps[from:] {
		if d, err = step.Up(d); err != nil {
			return nil, false, fmt.Errorf("schema: step %q: %w", step.Name, err)
		}
	}
	up, err := bson.Marshal(s.stamp(d))
	if err != nil {
		return nil, false, fmt.Errorf("schema: write a document: %w", err)
	}
	if !bson.Raw(up).Lookup("_id").Equal(doc.Lookup("_id")) {
		return nil, false, ErrID
	}
	return up, true, nil
}

// stamp sets the version of a document.
func (s *Schema) stamp(doc bson.D) bson.D {
	for i, e := range doc {
		if e.Key == s.cfg.Field {
			doc[i].Value = s.Version()
			return doc
		}
	}
	return append(doc, bson.E{s.cfg.Field, s.Version()})
}

// Decode is Upgrade and bson.Unmarshal in one.
func (s *Schema) Decode(doc bson.Raw, v any) error {
	up, _, err := s.Upgrade(doc)
	if err != nil {
		return err
	}
	if err := bson.Unmarshal(up, v); err != nil {
		return fmt.Errorf("schema: decode a document: %w", err)
	}
	return nil
}

// Indexes returns the one by which a migration finds what it has to do.
func (s *Schema) Indexes() []patterns.Index {
	return []patterns.Index{{Collection: s.coll.Name(), Model: mongo.IndexModel{Keys: bson.D{{s.cfg.Field, 1}}}}}
}

// EnsureIndexes creates the index.
func (s *Schema) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, s.coll.Database(), s.Indexes())
}

// ShardKeys returns none: how the documents are distributed is the application's business. A step
// may not change a shard key.
func (s *Schema) ShardKeys() []patterns.ShardKey { return nil }

// Shard does nothing but say whether there are shards.
func (s *Schema) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, s.coll.Database(), s.ShardKeys())
}
