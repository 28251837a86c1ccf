package i18n

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of texts.
var (
	// ErrNotFound is returned where a text does not exist.
	ErrNotFound = errors.New("i18n: there is no such text")
	// ErrFull is returned where a text has MaxLocales translations.
	ErrFull = errors.New("i18n: the text has as many translations as it may")
)

// MaxLocales is how many translations a text may have.
const MaxLocales = 500

// Config says where texts and their copies are.
type Config struct {
	patterns.Env
	// Collection has the texts; "categories" if empty.
	Collection string
	// Copies says which other collections hold copies.
	Copies []Copy
}

// Copy is an array of copies of texts in the documents of a collection.
type Copy struct {
	Collection string
	// Array is the name of the array; its elements are {_id, names, rev} and may have other fields.
	Array string
}

// Texts are the texts of a collection. It is safe for concurrent use.
type Texts struct {
	patterns.Env
	coll   *mongo.Collection
	copies []Copy
}

// Text is a text in all its translations.
type Text struct {
	ID    any   `bson:"_id"`
	Names Names `bson:"names"`
	Rev   int64 `bson:"rev"`
}

// New returns the texts of a database.
func New(db *mongo.Database, cfg Config) (*Texts, error) {
	for _, c := range cfg.Copies {
		if c.Collection == "" || c.Array == "" {
			return nil, fmt.Errorf("i18n: a copy needs a collection and an array, not %q and %q", c.Collection, c.Array)
		}
	}
	if cfg.Collection == "" {
		cfg.Collection = "categories"
	}
	return &Texts{Env: cfg.WithDefaults(), coll: db.Collection(cfg.Collection), copies: cfg.Copies}, nil
}

// Get returns a text.
func (t *Texts) Get(ctx context.Context, id any) (*Text, error) {
	text := &Text{}
	err := t.coll.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(text)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("i18n: read %v: %w", id, err)
	}
	return text, nil
}

// Set gives a text its translation in a locale, and all copies too. A text that does not exist is made.
func (t *Texts) Set(ctx context.Context, id any, locale, translation string) error {
	locale, err := checkLocale(locale)
	if err != nil {
		return err
	}
	// The text may have the locale already, or has room for another one.
	count := bson.D{{Key: "$size", Value: bson.D{{Key: "$objectToArray", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$names", bson.D{}}}}}}}}
	room := bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "names." + locale, Value: bson.D{{Key: "$exists", Value: true}}}},
		bson.D{{Key: "$expr", Value: bson.D{{Key: "$lt", Value: bson.A{count, MaxLocales}}}}},
	}}}
	set := bson.E{Key: "$set", Value: bson.D{{Key: "names." + locale, Value: translation}, {Key: "pending", Value: true}}}
	existing := append(bson.D{{Key: "_id", Value: id}}, room...)
	none := bson.D{{Key: "_id", Value: id}, {Key: "rev", Value: bson.D{{Key: "$exists", Value: false}}}}
	for range 2 { // the second time is for a text that was made meanwhile
		if err := t.change(ctx, existing, false, set); !errors.Is(err, ErrNotFound) {
			return err
		}
		if err := t.change(ctx, none, true, set); !mongo.IsDuplicateKeyError(err) {
			return err
		}
	}
	return ErrFull
}

// Unset takes the translation in a locale away from a text and all its copies.
func (t *Texts) Unset(ctx context.Context, id any, locale string) error {
	locale, err := checkLocale(locale)
	if err != nil {
		return err
	}
	return t.change(ctx, bson.D{{Key: "_id", Value: id}}, false,
		bson.E{Key: "$unset", Value: bson.D{{Key: "names." + locale, Value: ""}}},
		bson.E{Key: "$set", Value: bson.D{{Key: "pending", Value: true}}})
}

// change updates a text and then its copies.
func (t *Texts) change(ctx context.Context, filter bson.D, upsert bool, update ...bson.E) error {
	text := &Text{}
	next := append(bson.D{{Key: "$inc", Value: bson.D{{Key: "rev", Value: int64(1)}}}}, update...)
	opts := options.FindOneAndUpdate().SetUpsert(upsert).SetReturnDocument(options.After)
	err := t.coll.FindOneAndUpdate(ctx, filter, next, opts).Decode(text)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("i18n: change %v: %w", filter[0].Value, err)
	}
	return t.spread(ctx, text)
}

// spread writes a text into its copies, as far as those are older, and ends the change if there is no later one.
func (t *Texts) spread(ctx context.Context, text *Text) error {
	older := bson.D{{Key: "_id", Value: text.ID}, {Key: "rev", Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$gte", Value: text.Rev}}}}}}
	for _, c := range t.copies {
		with := bson.D{{Key: c.Array + "._id", Value: text.ID}, {Key: c.Array, Value: bson.D{{Key: "$elemMatch", Value: older}}}}
		set := bson.D{{Key: "$set", Value: bson.D{
			{Key: c.Array + ".$[old].names", Value: text.Names}, {Key: c.Array + ".$[old].rev", Value: text.Rev},
		}}}
		old := bson.D{{Key: "old._id", Value: text.ID}, {Key: "old.rev", Value: older[1].Value}}
		_, err := t.in(c).UpdateMany(ctx, with, set, options.UpdateMany().SetArrayFilters([]any{old}))
		if err != nil {
			return fmt.Errorf("i18n: change the copies of %v in %s: %w", text.ID, c.Collection, err)
		}
	}
	this := bson.D{{Key: "_id", Value: text.ID}, {Key: "rev", Value: text.Rev}}
	if _, err := t.coll.UpdateOne(ctx, this, bson.D{{Key: "$unset", Value: bson.D{{Key: "pending", Value: ""}}}}); err != nil {
		return fmt.Errorf("i18n: end the change of %v: %w", text.ID, err)
	}
	return nil
}

func (t *Texts) in(c Copy) *mongo.Collection { return t.coll.Database().Collection(c.Collection) }

// Attach adds a copy of a text to the document doc of the i-th kind of copies, if it has none. One that it has is brought up to the text.
func (t *Texts) Attach(ctx context.Context, i int, doc, id any) error {
	text, err := t.Get(ctx, id)
	if err != nil {
		return err
	}
	c := t.copies[i]
	without := bson.D{{Key: "_id", Value: doc}, {Key: c.Array + "._id", Value: bson.D{{Key: "$ne", Value: id}}}}
	res, err := t.in(c).UpdateOne(ctx, without, bson.D{{Key: "$push", Value: bson.D{{Key: c.Array, Value: text}}}})
	if err != nil {
		return fmt.Errorf("i18n: add a copy of %v to %v of %s: %w", id, doc, c.Collection, err)
	}
	// A change that ran between the first read and the update has not seen the copy.
	newest, err := t.Get(ctx, id)
	if err != nil || newest.Rev == text.Rev && res.MatchedCount == 1 {
		return err
	}
	return t.spread(ctx, newest)
}

// Indexes returns what the changes of copies, and Repair, find documents by.
func (t *Texts) Indexes() []patterns.Index {
	pending := options.Index().SetPartialFilterExpression(bson.D{{Key: "pending", Value: true}})
	out := []patterns.Index{{Collection: t.coll.Name(), Model: mongo.IndexModel{Keys: bson.D{{Key: "pending", Value: 1}}, Options: pending}}}
	for _, c := range t.copies {
		out = append(out, patterns.Index{Collection: c.Collection, Model: mongo.IndexModel{Keys: bson.D{{Key: c.Array + "._id", Value: 1}}}})
	}
	return out
}

// EnsureIndexes creates the indexes.
func (t *Texts) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, t.coll.Database(), t.Indexes())
}

// ShardKeys returns how the texts are distributed over shards.
func (t *Texts) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: t.coll.Name(), Key: bson.D{{Key: "_id", Value: "hashed"}}}}
}

// Shard distributes the texts over the shards of a cluster.
func (t *Texts) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, t.coll.Database(), t.ShardKeys())
}
