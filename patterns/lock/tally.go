package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of tallies.
var (
	// ErrNegative is returned if a count would become negative.
	ErrNegative = errors.New("lock: a count would be negative")
	// ErrKind is returned for a kind that cannot be the name of a field: an empty one, or one with
	// a dot, a leading $ or a zero byte.
	ErrKind = errors.New("lock: the name of a kind may not be empty, contain a dot or a zero byte, or begin with $")
)

// TallyConfig configures Tallies. The zero value works.
type TallyConfig struct {
	patterns.Env
	// Collection is the collection of the tallies; "tallies" if empty.
	Collection string
}

// Tallies keeps documents that count things by kind. Each document also holds the sum of its counts
// and the number of its kinds:
//
//	tallies: {_id: "basket-7", counts: {apples: NumberLong(3), pears: NumberLong(2)},
//	          total: NumberLong(5), kinds: NumberLong(2)}
//
// Each change is one update with a pipeline, which reads the current document: no lock is needed,
// and nothing has to be corrected later. A kind whose count becomes zero is removed. It is safe for
// concurrent use.
type Tallies struct {
	env  patterns.Env
	coll *mongo.Collection
}

// Tally is a document of Tallies.
type Tally struct {
	ID     any              `bson:"_id"`
	Counts map[string]int64 `bson:"counts"`
	Total  int64            `bson:"total"`
	Kinds  int64            `bson:"kinds"`
}

// NewTallies returns tallies that are stored in db.
func NewTallies(db *mongo.Database, cfg TallyConfig) (*Tallies, error) {
	if cfg.Collection == "" {
		cfg.Collection = "tallies"
	}
	return &Tallies{env: cfg.WithDefaults(), coll: db.Collection(cfg.Collection)}, nil
}

// Add changes the count of a kind by n, which may be negative, and returns the new tally. The count
// of a missing tally or kind is zero. Add returns ErrNegative and changes nothing if the count
// would become negative.
func (t *Tallies) Add(ctx context.Context, id any, kind string, n int64) (*Tally, error) {
	if kind == "" || strings.HasPrefix(kind, "$") || strings.ContainsAny(kind, ".\x00") {
		return nil, ErrKind
	}
	path := "counts." + kind
	// A negative n needs a count from which it can be subtracted.
	filter := bson.D{{"_id", id}}
	if n < 0 {
		filter = append(filter, bson.E{path, bson.D{{"$gte", -n}}})
	}
	count := bson.D{{"$add", bson.A{bson.D{{"$ifNull", bson.A{"$" + path, int64(0)}}}, n}}}
	gone := bson.D{{"$eq", bson.A{count, int64(0)}}}
	change := mongo.Pipeline{
		{{"$set", bson.D{{path, bson.D{{"$cond", bson.A{gone, "$$REMOVE", count}}}}}}},
		sums(),
	}
	opts := options.FindOneAndUpdate().SetUpsert(n > 0).SetReturnDocument(options.After)
	tally := &Tally{}
	err := t.coll.FindOneAndUpdate(ctx, filter, change, opts).Decode(tally)
	switch {
	case err == nil:
		return tally, nil
	case errors.Is(err, mongo.ErrNoDocuments) && n < 0:
		return nil, ErrNegative
	case errors.Is(err, mongo.ErrNoDocuments): // zero was added to a tally that does not exist
		return &Tally{ID: id}, nil
	default:
		return nil, fmt.Errorf("lock: count %s of %v: %w", kind, id, err)
	}
}

// sums returns the stage that computes the sum and the number of kinds from the counts.
func sums() bson.D {
	values := bson.D{{"$objectToArray", bson.D{{"$ifNull", bson.A{"$counts", bson.D{}}}}}}
	return bson.D{{"$set", bson.D{
		{"total", bson.D{{"$toLong", bson.D{{"$sum", bson.D{{"$map", bson.D{
			{"input", values}, {"in", "$$this.v"},
		}}}}}}}},
		{"kinds", bson.D{{"$size", values}}},
	}}}
}

// wrong returns the condition that selects tallies whose sums do not agree with their counts.
func wrong() bson.D {
	values := bson.D{{"$objectToArray", bson.D{{"$ifNull", bson.A{"$counts", bson.D{}}}}}}
	amounts := bson.D{{"$map", bson.D{{"input", values}, {"in", "$$this.v"}}}}
	return bson.D{{"$expr", bson.D{{"$or", bson.A{
		bson.D{{"$ne", bson.A{"$total", bson.D{{"$sum", amounts}}}}},
		bson.D{{"$ne", bson.A{"$kinds", bson.D{{"$size", values}}}}},
	}}}}}
}

// RuleSums is the rule of Tallies.Check.
const RuleSums = "the sums follow from the counts"

// Check lists the tallies whose sums do not agree with their counts. Only another program than this
// package can write such documents.
func (t *Tallies) Check(ctx context.Context) ([]patterns.Violation, error) {
	found, err := t.coll.Find(ctx, wrong())
	if err != nil {
		return nil, fmt.Errorf("lock: check the tallies: %w", err)
	}
	var tallies []Tally
	if err := found.All(ctx, &tallies); err != nil {
		return nil, fmt.Errorf("lock: check the tallies: %w", err)
	}
	var out []patterns.Violation
	for _, tally := range tallies {
		out = append(out, patterns.Violation{
			Rule: RuleSums, Collection: t.coll.Name(), ID: tally.ID,
			Detail: fmt.Sprintf("total %d, kinds %d, counts %v", tally.Total, tally.Kinds, tally.Counts),
		})
	}
	return out, nil
}

// Repair computes the sums of the tallies that Check lists, and returns their number.
func (t *Tallies) Repair(ctx context.Context) (int64, error) {
	res, err := t.coll.UpdateMany(ctx, wrong(), mongo.Pipeline{sums()})
	if err != nil {
		return 0, fmt.Errorf("lock: repair the tallies: %w", err)
	}
	return res.ModifiedCount, nil
}
