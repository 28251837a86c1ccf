package main

import (
	"testing"

	"go.mongodb.org/mongo-driver/bson"
)

func TestParts(t *testing.T) {
	rows := func(values ...any) bson.D {
		return bson.D{{Key: "ok", Value: int32(1)}, {Key: "rows", Value: bson.A(values)}}
	}
	a, b := bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "_id", Value: 2}}
	for _, c := range []struct {
		part, whole bson.D
		want        bool
	}{
		{rows(), rows(), true}, {rows(a), rows(b, a), true}, {rows(a, b), rows(b, a), true}, {rows(a, a), rows(a, b), false}, {rows(a), rows(b), false},
	} {
		if got := isPart(c.part, c.whole); got != c.want {
			t.Errorf("%v of %v: %v", c.part, c.whole, got)
		}
	}
	limited := bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{}}, {Key: "skip", Value: int32(1)}, {Key: "limit", Value: int32(2)}}
	if got := withoutPart(limited); len(got) != 2 {
		t.Errorf("without skip and limit: %v", got)
	}
	if got := withoutPart(append(limited, bson.E{Key: "sort", Value: bson.D{{Key: "_id", Value: 1}}})); got != nil {
		t.Errorf("a sorted find has no open part: %v", got)
	}
}
