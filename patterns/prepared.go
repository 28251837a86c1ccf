package patterns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ErrNotPrepared is returned by the first operation of a pattern if EnsureIndexes was never called
// for the database.
var ErrNotPrepared = errors.New("patterns: EnsureIndexes was not called for this database")

// Prepared finds out at the first operation of a pattern whether its indexes are missing. Without
// its unique indexes a pattern would break its guarantees silently. Without its TTL indexes it
// would keep documents that it should remove. The zero value can be used. Prepared is safe for
// concurrent use.
type Prepared struct{ seen atomic.Bool }

// Ensure creates the missing indexes, and remembers that all indexes exist.
func (p *Prepared) Ensure(ctx context.Context, db *mongo.Database, indexes []Index) error {
	if err := EnsureIndexes(ctx, db, indexes); err != nil {
		return err
	}
	p.seen.Store(true)
	return nil
}

// Check returns ErrNotPrepared if a unique index or a TTL index is missing. It logs other missing
// indexes. It sends one listIndexes for each collection, until it has found all unique indexes and
// TTL indexes once. If the user may not list indexes, Check assumes that they exist.
func (p *Prepared) Check(ctx context.Context, db *mongo.Database, log *slog.Logger, indexes func() []Index) error {
	if p.seen.Load() {
		return nil
	}
	// listIndexes cannot run in a transaction.
	ctx = mongo.NewSessionContext(ctx, nil)
	found := map[string][]mongo.IndexSpecification{}
	for _, ix := range indexes() {
		if _, ok := found[ix.Collection]; !ok {
			specs, err := db.Collection(ix.Collection).Indexes().ListSpecifications(ctx)
			if isUnauthorized(err) {
				break
			}
			if err != nil {
				return fmt.Errorf("patterns: look for the indexes of %s: %w", ix.Collection, err)
			}
			found[ix.Collection] = specs
		}
		want, err := promised(ix.Model)
		if err != nil {
			return err
		}
		switch has, err := contains(found[ix.Collection], ix.Model.Keys, want); {
		case err != nil:
			return err
		case has:
		case want != "":
			return fmt.Errorf("%w: %s.%s has no %s index on %v", ErrNotPrepared, db.Name(),
				ix.Collection, want, ix.Model.Keys)
		default:
			log.Warn("an index is missing, so operations are slow: call EnsureIndexes", "collection", ix.Collection, "keys", ix.Model.Keys)
		}
	}
	p.seen.Store(true)
	return nil
}

// Kind is the kind of a collection that must be created before its first document.
type Kind string

// These are the kinds of collections that CheckKind accepts.
const (
	Capped     Kind = "capped"
	TimeSeries Kind = "timeseries"
)

// CheckKind returns ErrNotPrepared if a collection does not exist or is not of the kind. After the
// first success it does not ask the server again.
func (p *Prepared) CheckKind(ctx context.Context, coll *mongo.Collection, kind Kind) error {
	if p.seen.Load() {
		return nil
	}
	ctx = mongo.NewSessionContext(ctx, nil)
	specs, err := coll.Database().ListCollectionSpecifications(ctx, bson.D{{"name", coll.Name()}})
	switch {
	case isUnauthorized(err):
	case err != nil:
		return fmt.Errorf("patterns: look for the collection %s: %w", coll.Name(), err)
	case len(specs) == 0 || !isKind(&specs[0], kind):
		return fmt.Errorf("%w: %s.%s is not a %s collection", ErrNotPrepared, coll.Database().Name(), coll.Name(), kind)
	}
	p.seen.Store(true)
	return nil
}

func isKind(s *mongo.CollectionSpecification, kind Kind) bool {
	if kind == Capped {
		capped, ok := s.Options.Lookup("capped").BooleanOK()
		return ok && capped
	}
	return s.Type == string(kind)
}

// promise is the guarantee of an index that a pattern relies on: unique keys, or the removal of
// expired documents.
type promise string

const (
	unique  promise = "unique"
	expires promise = "TTL"
)

// promised returns the promise of an index. It is empty if the index only makes reads faster.
func promised(m mongo.IndexModel) (promise, error) {
	if m.Options == nil {
		return "", nil
	}
	var o options.IndexOptions
	for _, set := range m.Options.List() {
		if err := set(&o); err != nil {
			return "", fmt.Errorf("patterns: the options of an index: %w", err)
		}
	}
	switch {
	case o.Unique != nil && *o.Unique:
		return unique, nil
	case o.ExpireAfterSeconds != nil:
		return expires, nil
	}
	return "", nil
}

// kept reports whether an index on the server keeps the promise. The index on _id is always unique.
func (p promise) kept(s *mongo.IndexSpecification) bool {
	switch p {
	case unique:
		return s.Name == "_id_" || s.Unique != nil && *s.Unique
	case expires:
		return s.ExpireAfterSeconds != nil
	}
	return true
}

// contains reports whether one of the indexes has the keys and keeps the promise.
func contains(specs []mongo.IndexSpecification, keys any, want promise) (bool, error) {
	raw, err := bson.Marshal(keys)
	if err != nil {
		return false, fmt.Errorf("patterns: the keys of an index: %w", err)
	}
	for i := range specs {
		if sameKeys(specs[i].KeysDocument, raw) && want.kept(&specs[i]) {
			return true, nil
		}
	}
	return false, nil
}

// sameKeys compares two key patterns. It compares the numbers by value and ignores their types.
func sameKeys(a, b bson.Raw) bool {
	x, errX := a.Elements()
	y, errY := b.Elements()
	if errX != nil || errY != nil || len(x) != len(y) {
		return false
	}
	for i := range x {
		p, numeric := x[i].Value().AsInt64OK()
		q, alsoNumeric := y[i].Value().AsInt64OK()
		same := x[i].Value().Equal(y[i].Value()) || numeric && alsoNumeric && p == q
		if !same || x[i].Key() != y[i].Key() {
			return false
		}
	}
	return true
}

// isUnauthorized reports whether the server refused a command because the user lacks the right.
func isUnauthorized(err error) bool {
	const unauthorized = 13
	var server mongo.ServerError
	return errors.As(err, &server) && server.HasErrorCode(unauthorized)
}
