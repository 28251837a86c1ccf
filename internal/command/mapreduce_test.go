package command_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/sheaftest"
)

const (
	mapByKey  = "function() { emit(this.k, this.v); }"
	reduceSum = "function(key, values) { return Array.sum(values); }"
)

// newNumbers returns a collection of n documents of two keys.
func newNumbers(t *testing.T, n int) *mongo.Collection {
	t.Helper()
	c := sheaftest.New(t).Database("d").Collection("numbers")
	var docs []any
	for i := range n {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "k", Value: i % 2}, {Key: "v", Value: i}})
	}
	if _, err := c.InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	return c
}

func mapReduceCommand(more ...bson.E) bson.D {
	cmd := bson.D{{Key: "mapReduce", Value: "numbers"}, {Key: "map", Value: bson.JavaScript(mapByKey)}, {Key: "reduce", Value: reduceSum}}
	return append(cmd, more...)
}

// asJSON runs a command and returns its reply's text, or the code of its error.
func asJSON(t *testing.T, c *mongo.Collection, cmd bson.D) string {
	t.Helper()
	raw, err := run(t, c, cmd)
	var failure mongo.CommandError
	if errors.As(err, &failure) {
		return fmt.Sprint(failure.Code)
	}
	if err != nil {
		t.Fatal(err)
	}
	return raw.String()
}

func TestMapReduceOptions(t *testing.T) {
	t.Parallel()
	c := newNumbers(t, 6)
	inline := bson.E{Key: "out", Value: bson.D{{Key: "inline", Value: 1}}}
	for _, test := range []struct {
		more bson.D
		want string
	}{
		{bson.D{inline}, `"results": [{"_id": {"$numberDouble":"0.0"},"value": {"$numberDouble":"6.0"}},{"_id": {"$numberDouble":"1.0"},"value": {"$numberDouble":"9.0"}}]`},
		{
			bson.D{inline, {Key: "query", Value: bson.D{{Key: "v", Value: bson.D{{Key: "$gte", Value: 3}}}}}, {Key: "limit", Value: 2}, {Key: "sort", Value: bson.D{{Key: "v", Value: -1}}}},
			`"value": {"$numberDouble":"4.0"}},{"_id": {"$numberDouble":"1.0"},"value": {"$numberDouble":"5.0"}}]`,
		},
		{bson.D{inline, {Key: "scope", Value: bson.D{{Key: "f", Value: 10}}}, {Key: "finalize", Value: "function(k, v) { return v * f; }"}}, `"value": {"$numberDouble":"60.0"}`},
		{bson.D{inline, {Key: "jsMode", Value: true}, {Key: "verbose", Value: true}, {Key: "finalize", Value: nil}}, `"ok": {"$numberDouble":"1.0"}`},
		{bson.D{{Key: "out", Value: "to"}}, `"result": "to"`},
		{bson.D{{Key: "out", Value: bson.D{{Key: "merge", Value: "to"}, {Key: "db", Value: "e"}, {Key: "nonAtomic", Value: true}}}}, `"result": {"db": "e","collection": "to"}`},
		{bson.D{{Key: "out", Value: 1}}, "2"},
		{bson.D{{Key: "out", Value: bson.D{{Key: "inline", Value: 1}, {Key: "db", Value: "x"}}}}, "72"},
		{bson.D{{Key: "out", Value: bson.D{{Key: "inline", Value: 2}}}}, "2"},
		{bson.D{{Key: "out", Value: bson.D{{Key: "replace", Value: "to"}, {Key: "odd", Value: 1}}}}, "2"},
		{bson.D{{Key: "out", Value: bson.D{{Key: "db", Value: "x"}}}}, "2"},
		{bson.D{{Key: "out", Value: bson.D{{Key: "merge", Value: "to"}, {Key: "db", Value: "admin"}}}}, "115"},
		{bson.D{{Key: "out", Value: bson.D{{Key: "reduce", Value: "to"}, {Key: "nonAtomic", Value: false}}}}, "2"},
		{bson.D{{Key: "out", Value: "system.x"}}, "17385"},
		{bson.D{inline, {Key: "limit", Value: -1}}, "15958"},
		{bson.D{inline, {Key: "sort", Value: bson.D{}}}, "15976"},
		{bson.D{inline, {Key: "finalize", Value: 5}}, "2"},
		{bson.D{inline, {Key: "odd", Value: 5}}, "40415"},
		{bson.D{}, "40414"},
	} {
		if got := asJSON(t, c, mapReduceCommand(test.more...)); !strings.Contains(got, test.want) {
			t.Errorf("%v: got %s, want %s", test.more, got, test.want)
		}
	}
}

func TestMapReduceFunctions(t *testing.T) {
	// Not parallel: a call of JavaScript ends when the heap grows by 512 MB, and other tests make
	// it grow.
	c := newNumbers(t, 4)
	for _, test := range []struct{ mapper, reduce, want string }{
		{"function() { emit(1); }", reduceSum, "31220"},
		{"function() { emit(undefined, 1); }", reduceSum, `"_id": null,"value": {"$numberDouble":"4.0"}`},
		{"function() { nosuch(); }", reduceSum, "139"},
		{"function() {", reduceSum, "139"},
		{mapByKey, "function(k, v) { throw 'x'; }", "139"},
		{"function() { emit('x'.repeat(20000000), 1); }", reduceSum, "17260"},
		{"function() { emit(NumberLong(this.k), NumberInt(1)); }", reduceSum, `"_id": {"$numberLong":"0"}`},
		{"function() { emit({k: this.k}, [this.v]); }", "(k, vs) => [].concat(...vs)", `"value": [{"$numberDouble":"0.0"},{"$numberDouble":"2.0"}]`},
	} {
		cmd := bson.D{{Key: "mapReduce", Value: "numbers"}, {Key: "map", Value: test.mapper}, {Key: "reduce", Value: test.reduce}, {Key: "out", Value: bson.D{{Key: "inline", Value: 1}}}}
		if got := asJSON(t, c, cmd); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s", test.mapper, got, test.want)
		}
	}
	// A loop without end is ended by the command's time.
	cmd := mapReduceCommand(bson.E{Key: "out", Value: bson.D{{Key: "inline", Value: 1}}}, bson.E{Key: "maxTimeMS", Value: 50})
	cmd[1].Value = "function() { for (;;) {} }"
	if got := asJSON(t, c, cmd); got != "50" {
		t.Errorf("endless map: %s", got)
	}
}

// TestMapReduceBigGroup has more values of one key than one call of reduce gets. It is not
// parallel: a call ends where the heap of the process grows by 512 MB meanwhile, and other tests
// make it grow.
func TestMapReduceBigGroup(t *testing.T) {
	c := newNumbers(t, 60)
	cmd := bson.D{
		{Key: "mapReduce", Value: "numbers"},
		{Key: "map", Value: "function() { emit(0, {n: 1, pad: 'x'.repeat(1000000)}); }"},
		{Key: "reduce", Value: "function(k, vs) { calls++; return {n: Array.sum(vs.map(v => v.n)), calls: calls}; }"},
		{Key: "scope", Value: bson.D{{Key: "calls", Value: 0}}},
		{Key: "out", Value: bson.D{{Key: "inline", Value: 1}}},
	}
	if got := asJSON(t, c, cmd); !strings.Contains(got, `"value": {"n": {"$numberDouble":"60.0"},"calls": {"$numberDouble":"4.0"}}`) {
		t.Errorf("%.300s", got)
	}
}
