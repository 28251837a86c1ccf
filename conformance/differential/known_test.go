package main

import (
	"testing"

	"go.mongodb.org/mongo-driver/bson"
)

func TestOrderOfGraphLookup(t *testing.T) {
	graph := aggregateCommand(bson.A{op("$graphLookup", bson.D{})})
	rows := func(found ...any) bson.D {
		return bson.D{{Key: "ok", Value: int32(1)}, {Key: "rows", Value: bson.A{bson.D{{Key: "v", Value: bson.A(found)}}}}}
	}
	cases := []struct {
		name  string
		cmd   bson.D
		a, b  bson.D
		known bool
	}{
		{"another order", graph, rows(int32(1), int32(2)), rows(int32(2), int32(1)), true},
		{"other documents", graph, rows(int32(1), int32(2)), rows(int32(1), int32(3)), false},
		{"another stage", aggregateCommand(bson.A{op("$lookup", bson.D{})}), rows(int32(1), int32(2)), rows(int32(2), int32(1)), false},
	}
	for _, c := range cases {
		if got := knownDifference(false, c.cmd, &difference{A: c.a, B: c.b}) != nil; got != c.known {
			t.Errorf("%s: known %v, want %v", c.name, got, c.known)
		}
	}
}
