package carts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors makes the errors of one package.
type Errors struct {
	// Package is the first word of each error text.
	Package string
	// Missing is the error for documents that do not exist.
	Missing error
}

// Wrap adds to an error the operation that failed. It returns nil if err is nil.
func (e Errors) Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", e.Package, fmt.Sprintf(format, args...), err)
}

// active is the state of a cart that its owner may change.
const active = "active"

// IsActive selects a cart that is active and whose deadline is after now.
func IsActive(id string, now time.Time) bson.D {
	return bson.D{{"_id", id}, {"state", active}, {"deadline", bson.D{{"$gt", now}}}}
}

// ByDeadline returns the index that Overdue reads. It has no entries for carts that have ended.
func ByDeadline(collection string) patterns.Index {
	unended := options.Index().SetPartialFilterExpression(bson.D{{"deadline", bson.D{{"$exists", true}}}})
	return patterns.Index{
		Collection: collection,
		Model:      mongo.IndexModel{Keys: bson.D{{"deadline", 1}}, Options: unended},
	}
}

// Overdue calls end for every cart whose deadline has passed. It returns the number of calls
// without an error. If end returns an error, Overdue continues with the next cart; it returns all
// errors joined.
func Overdue[C any](
	ctx context.Context, errs Errors, carts *mongo.Collection, now time.Time, end func(*C) error,
) (n int64, err error) {
	var failed []error
	overdue := bson.D{{"deadline", bson.D{{"$lte", now}}}}
	err = patterns.Each(ctx, carts, overdue, func(c *C) error {
		if err := end(c); err != nil {
			failed = append(failed, err)
			return nil
		}
		n++
		return nil
	})
	return n, errors.Join(append(failed, errs.Wrap(err, "look for carts that were left"))...)
}

// Change updates the cart that from selects, and returns the changed cart. It returns nil if from
// selects no cart.
func Change[C any](ctx context.Context, carts *mongo.Collection, from, change bson.D) (*C, error) {
	c := new(C)
	after := options.FindOneAndUpdate().SetReturnDocument(options.After)
	err := carts.FindOneAndUpdate(ctx, from, change, after).Decode(c)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ByID reads a document by its _id. If the document does not exist, the error is errs.Missing with
// the _id.
func ByID[T any](ctx context.Context, errs Errors, coll *mongo.Collection, id string) (*T, error) {
	doc := new(T)
	err := coll.FindOne(ctx, bson.D{{"_id", id}}).Decode(doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, fmt.Errorf("%w: %s %s", errs.Missing, coll.Name(), id)
	}
	if err != nil {
		return nil, errs.Wrap(err, "read %s %s", coll.Name(), id)
	}
	return doc, nil
}

// Hashed returns shard keys that distribute collections by the hash of _id.
func Hashed(collections ...string) (keys []patterns.ShardKey) {
	for _, coll := range collections {
		keys = append(keys, patterns.ShardKey{Collection: coll, Key: bson.D{{"_id", "hashed"}}})
	}
	return keys
}

// Violations collects the violations that Check finds.
type Violations []patterns.Violation

// Report adds a violation of a rule by the document with the given _id. detail and args are
// formatted like in fmt.Sprintf.
func (v *Violations) Report(rule, collection string, id any, detail string, args ...any) {
	*v = append(*v, patterns.Violation{
		Rule: rule, Collection: collection, ID: id,
		Detail: fmt.Sprintf(detail, args...),
	})
}
