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

// Errors of the package.
var (
	// ErrNotFound is returned if a text does not exist.
	ErrNotFound = errors.New("i18n: there is no such text")
	// ErrFull is returned if a text has MaxLocales translations.
	ErrFull = errors.New("i18n: the text has as many translations as it may")
)

// MaxLocales is the largest number of translations of a text.
const MaxLocales = 500

// Config names the collections of the texts and of their copies.
type Config struct {
	patterns.Env
	// Collection is the collection of the texts; "categories" if empty.
	Collection string
	// Copies lists the arrays in other collections that hold copies.
	Copies []Copy
}

// Copy is an array of copies in the documents of a collection.
type Copy struct {
	Collection string
	// Array is the name of the array. Its elements are {_id, names, rev}, and may have other
	// fields.
	Array string
}

// Texts holds the texts of a collection. It is safe for concurrent use.
type Texts struct {
	env    patterns.Env
	coll   *mongo.Collection
	copies []Copy
}

// Text is a text with all its translations.
type Text struct {
	ID    any   `bson:"_id"`
	Names Names `bson:"names"`
	Rev   int64 `bson:"rev"`
}

// New returns texts that are stored in db.
func New(db *mongo.Database, cfg Config) (*Texts, error) {
	for _, c := range cfg.Copies {
		if c.Collection == "" || c.Array == "" {
			return nil, fmt.Errorf("i18n: a copy needs a collection and an array, not %q and %q", c.Collection, c.Array)
		}
	}
	if cfg.Collection == "" {
		cfg.Collection = "categories"
	}
	return &Texts{env: cfg.WithDefaults(), coll: db.Collection(cfg.Collection), copies: cfg.Copies}, nil
}

// Get returns a text, or ErrNotFound.
func (t *Texts) Get(ctx context.Context, id any) (*Text, error) {
	text := &Text{}
	err := t.coll.FindOne(ctx, bson.D{{"_id", id}}).Decode(text)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("i18n: read %v: %w", id, err)
	}
	return text, nil
}

// Set sets the translation of a text in a locale, also in all copies. It creates the text if it
// does not exist. It returns ErrFull if the text has MaxLocales other translations.
func (t *Texts) Set(ctx context.Context, id any, locale, translation string) error {
	locale, err := checkLocale(locale)
	if err != nil {
		return err
	}
	// The text already has the locale, or has room for another one.
	count := bson.D{{"$size", bson.D{{"$objectToArray", bson.D{{"$ifNull", bson.A{"$names", bson.D{}}}}}}}}
	room := bson.D{{"$or", bson.A{
		bson.D{{"names." + locale, bson.D{{"$exists", true}}}},
		bson.D{{"$expr", bson.D{{"$lt", bson.A{count, MaxLocales}}}}},
	}}}
	set := bson.E{"$set", bson.D{{"names." + locale, translation}, {"pending", true}}}
	existing := append(bson.D{{"_id", id}}, room...)
	none := bson.D{{"_id", id}, {"rev", bson.D{{"$exists", false}}}}
	for range 2 { // the second attempt is for a text that was created meanwhile
		if err := t.change(ctx, existing, false, set); !errors.Is(err, ErrNotFound) {
			return err
		}
		if err := t.change(ctx, none, true, set); !mongo.IsDuplicateKeyError(err) {
			return err
		}
	}
	return ErrFull
}

// Unset removes the translation in a locale from a text and all its copies.
func (t *Texts) Unset(ctx context.Context, id any, locale string) error {
	locale, err := checkLocale(locale)
	if err != nil {
		return err
	}
	return t.change(ctx, bson.D{{"_id", id}}, false,
		bson.E{"$unset", bson.D{{"names." + locale, ""}}},
		bson.E{"$set", bson.D{{"pending", true}}})
}

// change updates a text and then its copies.
func (t *Texts) change(ctx context.Context, filter bson.D, upsert bool, update ...bson.E) error {
	text := &Text{}
	next := append(bson.D{{"$inc", bson.D{{"rev", int64(1)}}}}, update...)
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

// spread writes a text into its older copies. Then it ends the change, unless there is a later
// change.
func (t *Texts) spread(ctx context.Context, text *Text) error {
	older := bson.D{{"_id", text.ID}, {"rev", bson.D{{"$not", bson.D{{"$gte", text.Rev}}}}}}
	for _, c := range t.copies {
		with := bson.D{{c.Array + "._id", text.ID}, {c.Array, bson.D{{"$elemMatch", older}}}}
		set := bson.D{{"$set", bson.D{
			{c.Array + ".$[old].names", text.Names}, {c.Array + ".$[old].rev", text.Rev},
		}}}
		old := bson.D{{"old._id", text.ID}, {"old.rev", older[1].Value}}
		_, err := t.in(c).UpdateMany(ctx, with, set, options.UpdateMany().SetArrayFilters([]any{old}))
		if err != nil {
			return fmt.Errorf("i18n: change the copies of %v in %s: %w", text.ID, c.Collection, err)
		}
	}
	this := bson.D{{"_id", text.ID}, {"rev", text.Rev}}
	if _, err := t.coll.UpdateOne(ctx, this, bson.D{{"$unset", bson.D{{"pending", ""}}}}); err != nil {
		return fmt.Errorf("i18n: end the change of %v: %w", text.ID, err)
	}
	return nil
}

func (t *Texts) in(c Copy) *mongo.Collection { return t.coll.Database().Collection(c.Collection) }

// Attach adds a copy of a text to the document doc, in the array Config.Copies[i]. If the document
// already has a copy, Attach updates it.
func (t *Texts) Attach(ctx context.Context, i int, doc, id any) error {
	text, err := t.Get(ctx, id)
	if err != nil {
		return err
	}
	c := t.copies[i]
	without := bson.D{{"_id", doc}, {c.Array + "._id", bson.D{{"$ne", id}}}}
	res, err := t.in(c).UpdateOne(ctx, without, bson.D{{"$push", bson.D{{c.Array, text}}}})
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

// Indexes returns the index of pending changes, and the indexes of the copies.
func (t *Texts) Indexes() []patterns.Index {
	pending := options.Index().SetPartialFilterExpression(bson.D{{"pending", true}})
	out := []patterns.Index{{
		Collection: t.coll.Name(),
		Model:      mongo.IndexModel{Keys: bson.D{{"pending", 1}}, Options: pending},
	}}
	for _, c := range t.copies {
		out = append(out, patterns.Index{
			Collection: c.Collection,
			Model:      mongo.IndexModel{Keys: bson.D{{c.Array + "._id", 1}}},
		})
	}
	return out
}

// EnsureIndexes creates the indexes.
func (t *Texts) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, t.coll.Database(), t.Indexes())
}

// ShardKeys returns the shard key of the texts.
func (t *Texts) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: t.coll.Name(), Key: bson.D{{"_id", "hashed"}}}}
}

// Shard shards the texts by the key of ShardKeys.
func (t *Texts) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, t.coll.Database(), t.ShardKeys())
}
