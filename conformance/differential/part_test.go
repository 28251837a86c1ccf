package main

import (
	"testing"

	"go.mongodb.org/mongo-driver/bson"
)

func TestParts(t *testing.T) {
	rows := func(values ...any) bson.D {
		return bson.D{{"ok", int32(1)}, {"rows", bson.A(values)}}
	}
	a, b := bson.D{{"_id", 1}}, bson.D{{"_id", 2}}
	for _, c := range []struct {
		part, whole bson.D
		want        bool
	}{
		{rows(), rows(), true},
		{rows(a), rows(b, a), true},
		{rows(a, b), rows(b, a), true},
		{rows(a, a), rows(a, b), false},
		{rows(a), rows(b), false},
	} {
		if got := isPart(c.part, c.whole); got != c.want {
			t.Errorf("%v of %v: %v", c.part, c.whole, got)
		}
	}
	limited := bson.D{{"find", "c"}, {"filter", bson.D{}}, {"skip", int32(1)}, {"limit", int32(2)}}
	if got := withoutPart(limited); len(got) != 2 {
		t.Errorf("without skip and limit: %v", got)
	}
	if got := withoutPart(append(limited, bson.E{"sort", bson.D{{"_id", 1}}})); got != nil {
		t.Errorf("a sorted find has no open part: %v", got)
	}
}
