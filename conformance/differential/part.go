package main

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
)

// withoutPart returns a find without its skip and limit where no sort says which documents they
// take; nil for other commands. MongoDB's order is then that of insertion, and Sheaf's that of _id.
func withoutPart(cmd bson.D) bson.D {
	if cmd[0].Key != "find" || hasField(cmd, "sort") || !hasField(cmd, "skip") && !hasField(cmd, "limit") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(cmd), func(e bson.E) bool {
		return e.Key == "skip" || e.Key == "limit" || e.Key == "singleBatch" || e.Key == "batchSize"
	})
}

// comparePart compares what two servers took of a whole: the wholes must be the same set, each part
// as many documents of its own.
func (p *pair) comparePart(ctx context.Context, whole bson.D, part *difference) (*difference, error) {
	d, err := p.compare(ctx, whole)
	if err != nil || !d.equal(false) {
		return d, err
	}
	if isPart(part.A, d.A) && isPart(part.B, d.B) && sameCount(part.A, part.B) {
		return nil, nil
	}
	return part, nil
}

// isPart reports whether each row of a reply is one of another reply, which it does not share with
// a second one.
func isPart(part, whole bson.D) bool {
	some, _ := lookup(part, "rows").(bson.A)
	all, _ := lookup(whole, "rows").(bson.A)
	left := slices.Clone(all)
	for _, row := range some {
		at := slices.IndexFunc(left, func(v any) bool { return equalValue(row, v) })
		if at < 0 {
			return false
		}
		left = slices.Delete(left, at, at+1)
	}
	return true
}
