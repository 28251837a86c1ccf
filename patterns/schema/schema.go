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
	// ErrVersion is returned for a document whose version is not a whole number of at least zero.
	ErrVersion = errors.New("schema: the version is not a whole number from zero on")
	// ErrID is returned if a step changes the _id of a document.
	ErrID = errors.New("schema: a step may not change the _id")
	// ErrFailures is returned by Migrate if steps have failed for more documents than
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
	// Name describes the change for people.
	Name string
	// Up returns the document in its next version. The result depends only on the document, which
	// Up may modify. Up may be called any number of times for a document, always with the old
	// version.
	Up func(doc bson.D) (bson.D, error)
}

// Config configures a Schema. The zero value works, for documents that have not changed yet.
type Config struct {
	patterns.Env
	// Collection is the collection of the documents; DefaultCollection if empty. The application
	// owns these documents.
	Collection string
	// Field is the field that stores the version of a document; DefaultField if empty. Documents
	// without it have version 0.
	Field string
	// Steps bring documents from version 0 to 1, from 1 to 2, and so on. The current version is the
	// number of steps.
	Steps []Step
	// Batch is the number of documents in a batch of Migrate; DefaultBatch if zero.
	Batch int
	// Pause is the wait between two batches of Migrate. It leaves the server time for other
	// clients.
	Pause time.Duration
	// MaxFailures is the number of failed documents after which a migration gives up;
	// DefaultMaxFailures if zero.
	MaxFailures int
}

// Schema reads and writes the documents of a collection in the current version. It is safe for
// concurrent use.
type Schema struct {
	env  patterns.Env
	cfg  Config
	coll *mongo.Collection
}

// New returns the schema of a collection in db.
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

// Version returns the version of the documents that this program writes.
func (s *Schema) Version() int { return len(s.cfg.Steps) }

// version returns the version of a document.
func (s *Schema) version(doc bson.Raw) (int, error) {
	v, err := doc.LookupErr(s.cfg.Field)
	if err != nil || v.Type == bson.TypeNull {
		return 0, nil // the document was written before the collection had versions
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

// Upgrade returns a document in the current version, and reports whether it was older. It does not
// use the database. Use it for documents from a cursor.
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

// stamp sets the version field of a document to the current version.
func (s *Schema) stamp(doc bson.D) bson.D {
	for i, e := range doc {
		if e.Key == s.cfg.Field {
			doc[i].Value = s.Version()
			return doc
		}
	}
	return append(doc, bson.E{s.cfg.Field, s.Version()})
}

// Decode upgrades a document and unmarshals it into v.
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

// Indexes returns the index of the version field, which Migrate uses to find old documents.
func (s *Schema) Indexes() []patterns.Index {
	return []patterns.Index{{Collection: s.coll.Name(), Model: mongo.IndexModel{Keys: bson.D{{s.cfg.Field, 1}}}}}
}

// EnsureIndexes creates the index.
func (s *Schema) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, s.coll.Database(), s.Indexes())
}

// ShardKeys returns nil: the application chooses how its documents are sharded. A step may not
// change a shard key.
func (s *Schema) ShardKeys() []patterns.ShardKey { return nil }

// Shard enables sharding for the database, and shards no collection. It returns
// patterns.ErrNotSharded if the server is not a mongos.
func (s *Schema) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, s.coll.Database(), s.ShardKeys())
}
