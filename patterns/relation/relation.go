package relation

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of relations.
var (
	// ErrNotFound is returned if one of the documents does not exist.
	ErrNotFound = errors.New("relation: there is no such document")
	// ErrFull is returned if a list has the largest number of references.
	ErrFull = errors.New("relation: the list of references is full")
)

// DefaultMax is the default of Config.Max.
const DefaultMax = 1000

// Config configures Relations. The zero value works, for authors and books.
type Config struct {
	patterns.Env
	// Left and Right are the names of the collections; "authors" and "books" if empty.
	Left, Right string
	// Rights is the field of left documents that holds references to right ones, and Lefts is the
	// field of right documents that holds references to left ones. If empty, each field has the
	// name of the collection to which it refers.
	Rights, Lefts string
	// Max is the largest number of references in a document; DefaultMax if zero.
	Max int
}

// Relations keeps the references between the documents of two collections, in both directions. It
// is safe for concurrent use.
type Relations struct {
	env         patterns.Env
	left, right end
	max         int
}

// end is one side of the relation: its collection, and the field with its references.
type end struct {
	coll  *mongo.Collection
	field string // the field that holds the references
}

// New returns relations between two collections of db.
func New(db *mongo.Database, cfg Config) (*Relations, error) {
	if cfg.Left == "" {
		cfg.Left = "authors"
	}
	if cfg.Right == "" {
		cfg.Right = "books"
	}
	if cfg.Rights == "" {
		cfg.Rights = cfg.Right
	}
	if cfg.Lefts == "" {
		cfg.Lefts = cfg.Left
	}
	if cfg.Max == 0 {
		cfg.Max = DefaultMax
	}
	if cfg.Max < 0 || cfg.Left == cfg.Right && cfg.Lefts == cfg.Rights {
		return nil, fmt.Errorf("relation: at most %d references between %s.%s and %s.%s", cfg.Max, cfg.Left,
			cfg.Rights, cfg.Right, cfg.Lefts)
	}
	return &Relations{
		env: cfg.WithDefaults(), max: cfg.Max,
		left: end{db.Collection(cfg.Left), cfg.Rights}, right: end{db.Collection(cfg.Right), cfg.Lefts},
	}, nil
}

// Indexes returns the indexes that relations need.
func (r *Relations) Indexes() []patterns.Index {
	return []patterns.Index{
		{Collection: r.left.coll.Name(), Model: mongo.IndexModel{Keys: bson.D{{r.left.field, 1}}}},
		{Collection: r.right.coll.Name(), Model: mongo.IndexModel{Keys: bson.D{{r.right.field, 1}}}},
	}
}

// EnsureIndexes creates the missing indexes.
func (r *Relations) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, r.left.coll.Database(), r.Indexes())
}

// ShardKeys returns the shard keys of the collections.
func (r *Relations) ShardKeys() []patterns.ShardKey {
	hashed := bson.D{{"_id", "hashed"}}
	return []patterns.ShardKey{
		{Collection: r.left.coll.Name(), Key: hashed},
		{Collection: r.right.coll.Name(), Key: hashed},
	}
}

// Shard shards the collections by the keys of ShardKeys.
func (r *Relations) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, r.left.coll.Database(), r.ShardKeys())
}

// Link makes two documents refer to each other. It is not an error if the documents already refer
// to each other.
func (r *Relations) Link(ctx context.Context, left, right any) error {
	if err := r.add(ctx, r.right, right, left); err != nil {
		return err
	}
	err := r.add(ctx, r.left, left, right)
	if errors.Is(err, ErrFull) || errors.Is(err, ErrNotFound) {
		return errors.Join(err, r.remove(ctx, r.right, right, left), r.sync(ctx, left, right))
	}
	if err != nil {
		return err
	}
	return r.verify(ctx, left, right, true)
}

// Unlink removes the references between two documents. It is not an error if there are no such
// references.
func (r *Relations) Unlink(ctx context.Context, left, right any) error {
	if err := r.remove(ctx, r.right, right, left); err != nil {
		return err
	}
	if err := r.remove(ctx, r.left, left, right); err != nil {
		return err
	}
	return r.verify(ctx, left, right, false)
}

// verify calls sync unless the right side agrees with the last write to the left side: written says
// whether that write set the link.
func (r *Relations) verify(ctx context.Context, left, right any, written bool) error {
	linked, err := r.linked(ctx, left, right)
	if err != nil || linked == written {
		return err
	}
	return r.sync(ctx, left, right)
}

// sync changes the left side to agree with the right side. It repeats this if the right side
// changes meanwhile.
func (r *Relations) sync(ctx context.Context, left, right any) error {
	for {
		linked, err := r.linked(ctx, left, right)
		if err != nil {
			return err
		}
		if !linked {
			err = r.remove(ctx, r.left, left, right)
		} else if err = r.add(ctx, r.left, left, right); errors.Is(err, ErrFull) || errors.Is(err, ErrNotFound) {
			if err := r.remove(ctx, r.right, right, left); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if now, err := r.linked(ctx, left, right); err != nil || now == linked {
			return err
		}
	}
}

// linked reports whether the right document refers to the left one.
func (r *Relations) linked(ctx context.Context, left, right any) (bool, error) {
	filter := bson.D{{"_id", right}, {r.right.field, left}}
	err := r.right.coll.FindOne(ctx, filter, options.FindOne().SetProjection(bson.D{{"_id", 1}})).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return false, nil
	}
	return err == nil, wrap(err, "read "+r.right.coll.Name())
}

// add adds a reference if the list is not full.
func (r *Relations) add(ctx context.Context, e end, id, ref any) error {
	room := bson.D{{"_id", id}, {"$or", bson.A{
		bson.D{{e.field, ref}},
		bson.D{{fmt.Sprintf("%s.%d", e.field, r.max-1), bson.D{{"$exists", false}}}},
	}}}
	// $addToSet is not possible, because a program's empty list may be stored as null.
	list := bson.D{{"$ifNull", bson.A{"$" + e.field, bson.A{}}}}
	ours := bson.D{{"$literal", ref}}
	with := bson.D{{"$concatArrays", bson.A{list, bson.A{ours}}}}
	once := bson.D{{"$cond", bson.A{bson.D{{"$in", bson.A{ours, list}}}, list, with}}}
	res, err := e.coll.UpdateOne(ctx, room, mongo.Pipeline{{{"$set", bson.D{{e.field, once}}}}})
	if err != nil || res.MatchedCount > 0 {
		return wrap(err, "add a reference to "+e.coll.Name())
	}
	err = e.coll.FindOne(ctx, bson.D{{"_id", id}}).Err()
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return ErrNotFound
	case err != nil:
		return wrap(err, "read "+e.coll.Name())
	default:
		return ErrFull
	}
}

func (r *Relations) remove(ctx context.Context, e end, id, ref any) error {
	_, err := e.coll.UpdateOne(ctx, bson.D{{"_id", id}, {e.field, ref}}, pull(e.field, ref))
	return wrap(err, "remove a reference from "+e.coll.Name())
}

func pull(field string, ref any) bson.D {
	return bson.D{{"$pull", bson.D{{field, ref}}}}
}

// Rights decodes the right documents of a left one into docs, which must be a pointer to a slice.
func (r *Relations) Rights(ctx context.Context, left, docs any) error {
	return follow(ctx, r.left, r.right, left, bson.D{{r.right.field, left}}, docs)
}

// Lefts decodes the left documents of a right one into docs, which must be a pointer to a slice.
func (r *Relations) Lefts(ctx context.Context, right, docs any) error {
	return follow(ctx, r.right, r.left, right, nil, docs)
}

func follow(ctx context.Context, from, to end, id any, cond bson.D, docs any) error {
	raw, err := from.coll.FindOne(ctx, bson.D{{"_id", id}},
		options.FindOne().SetProjection(bson.D{{from.field, 1}})).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return ErrNotFound
	}
	if err != nil {
		return wrap(err, "read "+from.coll.Name())
	}
	refs := any(bson.A{})
	if list := raw.Lookup(from.field); list.Type == bson.TypeArray {
		refs = list
	}
	filter := append(bson.D{{"_id", bson.D{{"$in", refs}}}}, cond...)
	found, err := to.coll.Find(ctx, filter, options.Find().SetSort(bson.D{{"_id", 1}}))
	if err == nil {
		err = found.All(ctx, docs)
	}
	return wrap(err, "read "+to.coll.Name())
}

// RemoveLeft deletes a left document and the references to it.
func (r *Relations) RemoveLeft(ctx context.Context, left any) error {
	return drop(ctx, r.left, r.right, left)
}

// RemoveRight deletes a right document and the references to it.
func (r *Relations) RemoveRight(ctx context.Context, right any) error {
	return drop(ctx, r.right, r.left, right)
}

func drop(ctx context.Context, of, other end, id any) error {
	res, err := of.coll.DeleteOne(ctx, bson.D{{"_id", id}})
	if err != nil {
		return wrap(err, "delete from "+of.coll.Name())
	}
	if _, err := other.coll.UpdateMany(ctx, bson.D{{other.field, id}}, pull(other.field, id)); err != nil {
		return wrap(err, "remove references from "+other.coll.Name())
	}
	if res.DeletedCount == 0 {
		return ErrNotFound
	}
	return nil
}

// wrap adds to an error the operation that failed. It returns nil if err is nil.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("relation: %s: %w", what, err)
}
