package lock

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// LinesConfig configures Lines. The zero value works.
type LinesConfig struct {
	patterns.Env
	// Collection is the collection of the documents; "lines" if empty.
	Collection string
	// Max is the largest number of lines in a document, which limits its size; 1,000 if zero.
	Max int
}

// DefaultMaxLines is the default of LinesConfig.Max.
const DefaultMaxLines = 1000

// ErrFull is returned if a document has the largest number of lines.
var ErrFull = fmt.Errorf("lock: the document has as many lines as it may")

// Lines keeps documents with an array of lines and the sum of their quantities:
//
//	lines: {_id: "order-7", items: [{sku: "pen", qty: NumberLong(3)}, {sku: "ink", qty: NumberLong(1)}],
//	        total: NumberLong(4)}
//
// It shows the conditional update with a fallback. The first update has the condition that the line
// exists, and changes the line and the sum together. If it matches nothing, a second update with
// the opposite condition adds the line. Each update is atomic. So the sum is always right,
// whichever other processes write and wherever the process dies. It is safe for concurrent use.
type Lines struct {
	env  patterns.Env
	coll *mongo.Collection
	max  int
}

// NewLines returns a Lines that stores its documents in db.
func NewLines(db *mongo.Database, cfg LinesConfig) (*Lines, error) {
	if cfg.Collection == "" {
		cfg.Collection = "lines"
	}
	if cfg.Max == 0 {
		cfg.Max = DefaultMaxLines
	}
	return &Lines{env: cfg.WithDefaults(), coll: db.Collection(cfg.Collection), max: cfg.Max}, nil
}

// Add increases the quantity of a line. It creates the line and the document if they do not exist.
// It costs one update for an existing line and two for a new one, and more only if another process
// creates the same line at this moment. It returns ErrFull if the document has too many lines.
func (l *Lines) Add(ctx context.Context, id any, sku string, qty int64) error {
	for {
		if done, err := l.increase(ctx, id, sku, qty); done || err != nil {
			return err
		}
		done, err := l.push(ctx, id, sku, qty)
		if done || err != nil {
			return err
		}
	}
}

// increase changes a line and the sum, if the line exists.
func (l *Lines) increase(ctx context.Context, id any, sku string, qty int64) (bool, error) {
	with := bson.D{{"_id", id}, {"items.sku", sku}}
	res, err := l.coll.UpdateOne(ctx, with, bson.D{{"$inc", bson.D{{"items.$.qty", qty}, {"total", qty}}}})
	if err != nil {
		return false, fmt.Errorf("lock: increase line %s of %v: %w", sku, id, err)
	}
	return res.MatchedCount > 0, nil
}

// push adds a line if it does not exist. done is false if another process has added it meanwhile.
func (l *Lines) push(ctx context.Context, id any, sku string, qty int64) (done bool, err error) {
	without := bson.D{
		{"_id", id},
		{"items.sku", bson.D{{"$ne", sku}}},
		{fmt.Sprintf("items.%d", l.max-1), bson.D{{"$exists", false}}},
	}
	add := bson.D{
		{"$push", bson.D{{"items", bson.D{{"sku", sku}, {"qty", qty}}}}},
		{"$inc", bson.D{{"total", qty}}},
	}
	// If the document exists but does not match, the upsert fails with a duplicate key: the line
	// exists by now, or the document is full.
	_, err = l.coll.UpdateOne(ctx, without, add, options.UpdateOne().SetUpsert(true))
	if !mongo.IsDuplicateKeyError(err) {
		if err != nil {
			return false, fmt.Errorf("lock: add line %s to %v: %w", sku, id, err)
		}
		return true, nil
	}
	n, err := l.coll.CountDocuments(ctx, bson.D{{"_id", id}, {"items.sku", sku}})
	if err != nil {
		return false, fmt.Errorf("lock: look for line %s of %v: %w", sku, id, err)
	}
	if n == 0 {
		return false, ErrFull
	}
	return false, nil
}

// RuleLines is the rule of Lines.Check.
const RuleLines = "the sum equals the sum of the lines, and each kind has one line"

// Check lists the documents whose sum is wrong, or which have two lines of the same kind.
func (l *Lines) Check(ctx context.Context) ([]patterns.Violation, error) {
	skus := bson.D{{"$ifNull", bson.A{"$items.sku", bson.A{}}}}
	wrong := bson.D{{"$expr", bson.D{{"$or", bson.A{
		bson.D{{"$ne", bson.A{"$total", bson.D{{"$sum", "$items.qty"}}}}},
		bson.D{{"$ne", bson.A{
			bson.D{{"$size", skus}}, bson.D{{"$size", bson.D{{"$setUnion", bson.A{skus}}}}},
		}}},
	}}}}}
	found, err := l.coll.Find(ctx, wrong)
	if err != nil {
		return nil, fmt.Errorf("lock: check the lines: %w", err)
	}
	var docs []bson.M
	if err := found.All(ctx, &docs); err != nil {
		return nil, fmt.Errorf("lock: check the lines: %w", err)
	}
	var out []patterns.Violation
	for _, doc := range docs {
		out = append(out, patterns.Violation{
			Rule: RuleLines, Collection: l.coll.Name(), ID: doc["_id"],
			Detail: fmt.Sprintf("total %v, items %v", doc["total"], doc["items"]),
		})
	}
	return out, nil
}
