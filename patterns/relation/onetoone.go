package relation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// OneToOneConfig configures OneToOne. The zero value works, for users and addresses.
type OneToOneConfig struct {
	// Owners and Parts are the names of the collections; "users" and "addresses" if empty.
	Owners, Parts string
	// Ref is the field of a part that holds the _id of its owner; the part's own _id if empty.
	Ref string
}

// OneToOne checks documents that have exactly one partner each in another collection. It is safe
// for concurrent use.
type OneToOne struct {
	owners, parts *mongo.Collection
	ref           string
	prepared      patterns.Prepared
}

// NewOneToOne returns a OneToOne for two collections of db.
func NewOneToOne(db *mongo.Database, cfg OneToOneConfig) (*OneToOne, error) {
	owners, parts := cmp.Or(cfg.Owners, "users"), cmp.Or(cfg.Parts, "addresses")
	if owners == parts {
		return nil, fmt.Errorf("relation: %s cannot be their own partners", owners)
	}
	return &OneToOne{owners: db.Collection(owners), parts: db.Collection(parts), ref: cmp.Or(cfg.Ref, "_id")}, nil
}

// Indexes returns the unique index that prevents a second partner. It returns nil if the part's own
// _id refers to the owner, because the index on _id is sufficient.
func (o *OneToOne) Indexes() []patterns.Index {
	if o.ref == "_id" {
		return nil
	}
	keys := bson.D{{o.ref, 1}}
	return []patterns.Index{{
		Collection: o.parts.Name(),
		Model:      mongo.IndexModel{Keys: keys, Options: options.Index().SetUnique(true)},
	}}
}

// EnsureIndexes creates the index if it does not exist.
func (o *OneToOne) EnsureIndexes(ctx context.Context) error {
	return o.prepared.Ensure(ctx, o.owners.Database(), o.Indexes())
}

// ShardKeys returns the shard keys of the collections. The index is unique, so its field must be
// the shard key.
func (o *OneToOne) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{
		{Collection: o.owners.Name(), Key: bson.D{{"_id", "hashed"}}},
		{Collection: o.parts.Name(), Key: bson.D{{o.ref, 1}}},
	}
}

// Shard shards the collections by the keys of ShardKeys.
func (o *OneToOne) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, o.owners.Database(), o.ShardKeys())
}

// Check lists the owners without a partner or with several partners, and the parts without an
// owner. The server compares the documents. If the unique index is missing, Check also returns
// patterns.ErrNotPrepared.
func (o *OneToOne) Check(ctx context.Context) ([]patterns.Violation, error) {
	out, err := o.without(ctx, RuleOne, o.owners, "_id", o.parts, o.ref)
	if err != nil {
		return nil, err
	}
	lost, err := o.without(ctx, RuleExists, o.parts, o.ref, o.owners, "_id")
	if err != nil {
		return out, err
	}
	// The list is returned in any case: the index cannot be built while an owner has two partners,
	// and the list names those owners.
	log := patterns.Env{}.WithDefaults().Logger
	return append(out, lost...), o.prepared.Check(ctx, o.owners.Database(), log, o.Indexes)
}

// without finds the documents of a collection that do not have exactly one partner in another
// collection.
func (o *OneToOne) without(ctx context.Context, rule string, in *mongo.Collection, field string,
	other *mongo.Collection, ref string,
) ([]patterns.Violation, error) {
	found, err := in.Aggregate(ctx, mongo.Pipeline{
		{{"$project", bson.D{{field, 1}}}},
		{{"$lookup", bson.D{
			{"from", other.Name()}, {"localField", field}, {"foreignField", ref}, {"as", "found"},
		}}},
		{{"$match", bson.D{{"found", bson.D{{"$not", bson.D{{"$size", 1}}}}}}}},
		{{"$project", bson.D{{"found._id", 1}}}},
	})
	if err != nil {
		return nil, wrap(err, "check "+in.Name())
	}
	defer func() { _ = found.Close(context.WithoutCancel(ctx)) }()
	var out []patterns.Violation
	for found.Next(ctx) {
		doc := slices.Clone(found.Current)
		detail := fmt.Sprintf("in %s it has %s", other.Name(), doc.Lookup("found"))
		out = append(out, patterns.Violation{Rule: rule, Collection: in.Name(), ID: doc.Lookup("_id"), Detail: detail})
	}
	return out, wrap(found.Err(), "check "+in.Name())
}
