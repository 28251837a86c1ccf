package main

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
)

// withoutPart returns a find without its skip and limit. It returns nil for other commands, for a
// find with a sort, and for a find without skip and limit. Without a sort, MongoDB scans in the
// order of insertion and Sheaf in the order of _id, so they skip different documents.
func withoutPart(cmd bson.D) bson.D {
	if cmd[0].Key != "find" || hasField(cmd, "sort") || !hasField(cmd, "skip") && !hasField(cmd, "limit") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(cmd), func(e bson.E) bool {
		return e.Key == "skip" || e.Key == "limit" || e.Key == "singleBatch" || e.Key == "batchSize"
	})
}

// comparePart compares the answers to whole, which is a command without its skip and limit, and the
// parts that the command returned with them. The whole answers must be equal multisets. Each part
// must be contained in the whole answer of its server, and both parts must have the same size.
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

// isPart reports whether a reply's rows are contained in the rows of another reply, as multisets.
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
