package command_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sheaftest"
)

const (
	mapByKey  = "function() { emit(this.k, this.v); }"
	reduceSum = "function(key, values) { return Array.sum(values); }"
)

// newNumbers returns a collection of n documents with two different values of k.
func newNumbers(t *testing.T, n int) *mongo.Collection {
	t.Helper()
	c := sheaftest.New(t).Database("d").Collection("numbers")
	var docs []any
	for i := range n {
		docs = append(docs, bson.D{{"_id", i}, {"k", i % 2}, {"v", i}})
	}
	if _, err := c.InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	return c
}

func mapReduceCommand(more ...bson.E) bson.D {
	cmd := bson.D{{"mapReduce", "numbers"}, {"map", bson.JavaScript(mapByKey)}, {"reduce", reduceSum}}
	return append(cmd, more...)
}

// asJSON runs a command and returns its reply as JSON, or the code of its error.
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
	inline := bson.E{"out", bson.D{{"inline", 1}}}
	for _, test := range []struct {
		more bson.D
		want string
	}{
		{bson.D{inline}, `"results": [{"_id": {"$numberDouble":"0.0"},"value": {"$numberDouble":"6.0"}},{"_id": {"$numberDouble":"1.0"},"value": {"$numberDouble":"9.0"}}]`},
		{
			bson.D{inline, {"query", bson.D{{"v", bson.D{{"$gte", 3}}}}}, {"limit", 2}, {"sort", bson.D{{"v", -1}}}},
			`"value": {"$numberDouble":"4.0"}},{"_id": {"$numberDouble":"1.0"},"value": {"$numberDouble":"5.0"}}]`,
		},
		{
			bson.D{inline, {"scope", bson.D{{"f", 10}}}, {"finalize", "function(k, v) { return v * f; }"}},
			`"value": {"$numberDouble":"60.0"}`,
		},
		{bson.D{inline, {"jsMode", true}, {"verbose", true}, {"finalize", nil}}, `"ok": {"$numberDouble":"1.0"}`},
		{bson.D{{"out", "to"}}, `"result": "to"`},
		{
			bson.D{{"out", bson.D{{"merge", "to"}, {"db", "e"}, {"nonAtomic", true}}}},
			`"result": {"db": "e","collection": "to"}`,
		},
		{bson.D{{"out", 1}}, "2"},
		{bson.D{{"out", bson.D{{"inline", 1}, {"db", "x"}}}}, "72"},
		{bson.D{{"out", bson.D{{"inline", 2}}}}, "2"},
		{bson.D{{"out", bson.D{{"replace", "to"}, {"odd", 1}}}}, "2"},
		{bson.D{{"out", bson.D{{"db", "x"}}}}, "2"},
		{bson.D{{"out", bson.D{{"merge", "to"}, {"db", "admin"}}}}, "115"},
		{bson.D{{"out", bson.D{{"reduce", "to"}, {"nonAtomic", false}}}}, "2"},
		{bson.D{{"out", "system.x"}}, "17385"},
		{bson.D{inline, {"limit", -1}}, "15958"},
		{bson.D{inline, {"sort", bson.D{}}}, "15976"},
		{bson.D{inline, {"finalize", 5}}, "2"},
		{bson.D{inline, {"odd", 5}}, "40415"},
		{bson.D{}, "40414"},
	} {
		if got := asJSON(t, c, mapReduceCommand(test.more...)); !strings.Contains(got, test.want) {
			t.Errorf("%v: got %s, want %s", test.more, got, test.want)
		}
	}
}

func TestMapReduceFunctions(t *testing.T) {
	// Not parallel: a JavaScript call is ended when the heap of the process grows by 512 MB, and
	// other tests would make it grow.
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
		cmd := bson.D{
			{"mapReduce", "numbers"},
			{"map", test.mapper},
			{"reduce", test.reduce},
			{"out", bson.D{{"inline", 1}}},
		}
		if got := asJSON(t, c, cmd); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s", test.mapper, got, test.want)
		}
	}
	// The time limit of the command ends an endless loop.
	cmd := mapReduceCommand(bson.E{"out", bson.D{{"inline", 1}}}, bson.E{"maxTimeMS", 50})
	cmd[1].Value = "function() { for (;;) {} }"
	if got := asJSON(t, c, cmd); got != "50" {
		t.Errorf("endless map: %s", got)
	}
}

// TestMapReduceBigGroup checks a key with more values than one call of reduce gets. It is not
// parallel: a JavaScript call is ended when the heap of the process grows by 512 MB, and other
// tests would make it grow.
func TestMapReduceBigGroup(t *testing.T) {
	torture.SkipShort(t)
	c := newNumbers(t, 60)
	cmd := bson.D{
		{"mapReduce", "numbers"},
		{"map", "function() { emit(0, {n: 1, pad: 'x'.repeat(1000000)}); }"},
		{"reduce", "function(k, vs) { calls++; return {n: Array.sum(vs.map(v => v.n)), calls: calls}; }"},
		{"scope", bson.D{{"calls", 0}}},
		{"out", bson.D{{"inline", 1}}},
	}
	if got := asJSON(t, c, cmd); !strings.Contains(got, `"value": {"n": {"$numberDouble":"60.0"},"calls": {"$numberDouble":"4.0"}}`) {
		t.Errorf("%.300s", got)
	}
}
