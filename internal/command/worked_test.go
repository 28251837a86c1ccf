package command_test

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// workedExample is a pipeline over a few documents with known results.
type workedExample struct {
	Name     string
	In       []json.RawMessage
	Pipeline json.RawMessage
	Out      []json.RawMessage
	// Sets means that arrays may have their elements in any order.
	Sets bool
}

// TestWorkedExamples runs the examples of testdata/worked.json: expressions that books about
// MongoDB explain.
func TestWorkedExamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/worked.json")
	if err != nil {
		t.Fatal(err)
	}
	var examples []workedExample
	if err := json.Unmarshal(text, &examples); err != nil {
		t.Fatal(err)
	}
	db := sheaftest.New(t).Database("worked")
	for _, e := range examples {
		t.Run(e.Name, func(t *testing.T) {
			number, _, _ := strings.Cut(e.Name, " ")
			c := db.Collection(number)
			for _, line := range e.In {
				insert(t, c, bsonxtest.ParseD(t, string(line)))
			}
			stages, _ := bsonxtest.ParseD(t, `{"v":`+string(e.Pipeline)+`}`)[0].Value.(bson.A)
			got := aggregate(t, c, stages)
			if len(got) != len(e.Out) {
				t.Fatalf("%d results, not %d: %v", len(got), len(e.Out), got)
			}
			for i, line := range e.Out {
				want := bsonxtest.ParseD(t, string(line))
				if e.Sets {
					sortArrays(want)
					sortArrays(got[i])
				}
				if !reflect.DeepEqual(got[i], want) {
					t.Errorf("result %d:\n got %v\nwant %v", i, got[i], want)
				}
			}
		})
	}
}

func insert(t *testing.T, c *mongo.Collection, docs ...any) {
	t.Helper()
	if _, err := c.InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

func aggregate(t *testing.T, c *mongo.Collection, stages any) []bson.D {
	t.Helper()
	cursor, err := c.Aggregate(t.Context(), stages)
	if err != nil {
		t.Fatal(err)
	}
	return all(t, cursor)
}

func all(t *testing.T, cursor *mongo.Cursor) []bson.D {
	t.Helper()
	var docs []bson.D
	if err := cursor.All(context.Background(), &docs); err != nil {
		t.Fatal(err)
	}
	return docs
}

// sortArrays sorts the arrays of a document by the JSON form of their elements.
func sortArrays(d bson.D) {
	for _, e := range d {
		if list, ok := e.Value.(bson.A); ok {
			slices.SortFunc(list, func(a, b any) int {
				x, _ := json.Marshal(a)
				y, _ := json.Marshal(b)
				return slices.Compare(x, y)
			})
		}
	}
}

// Functions that sum up events by hour, hours by day, days by month, and months by year.
const (
	hourMap = `function() {
		emit({u: this.user, d: new Date(Date.UTC(this.ts.getUTCFullYear(), this.ts.getUTCMonth(), this.ts.getUTCDate(), this.ts.getUTCHours()))},
			{total: this.length, count: 1, mean: 0, ts: null}); }`
	dayMap   = `function() { var d = this._id.d; emit({u: this._id.u, d: new Date(Date.UTC(d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate()))}, this.value); }`
	monthMap = `function() { var d = this._id.d; emit({u: this._id.u, d: new Date(Date.UTC(d.getUTCFullYear(), d.getUTCMonth()))}, this.value); }`
	yearMap  = `function() { var d = this._id.d; emit({u: this._id.u, d: new Date(Date.UTC(d.getUTCFullYear(), 0))}, this.value); }`
	addUp    = `function(key, values) {
		var r = {total: 0, count: 0, mean: 0, ts: null};
		values.forEach(function(v) { r.total += v.total; r.count += v.count; });
		return r; }`
	meanOf = `function(key, v) { if (v.count > 0) { v.mean = v.total / v.count; } v.ts = new Date(); return v; }`
)

type statistics struct {
	ID struct {
		U string
		D time.Time
	} `bson:"_id"`
	Value struct {
		Total, Count, Mean float64
		TS                 time.Time
	}
}

func mapReduce(t *testing.T, db *mongo.Database, from, function, to string, query bson.D) {
	t.Helper()
	err := db.RunCommand(t.Context(), bson.D{
		{"mapReduce", from},
		{"map", bson.JavaScript(function)},
		{"reduce", bson.JavaScript(addUp)},
		{"finalize", bson.JavaScript(meanOf)},
		{"query", query},
		{"out", bson.D{{"reduce", to}}},
	}).Err()
	if err != nil {
		t.Fatal(err)
	}
}

func hoursAndDays(t *testing.T, db *mongo.Database, name string) []statistics {
	t.Helper()
	cursor, err := db.Collection(name).Find(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	var out []statistics
	if err := cursor.All(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(out, func(a, b statistics) int { return a.ID.D.Compare(b.ID.D) })
	return out
}

func at(hour, minute int) time.Time { return time.Date(2000, 10, 10, hour, minute, 0, 0, time.UTC) }

// TestWorkedStatistics is the example W044: each level of statistics is a mapReduce over the level
// below.
func TestWorkedStatistics(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("stats")
	insert(t, db.Collection("events"),
		bson.D{{"user", "u1"}, {"ts", at(10, 5)}, {"length", 10}},
		bson.D{{"user", "u1"}, {"ts", at(10, 40)}, {"length", 20}},
		bson.D{{"user", "u1"}, {"ts", at(11, 15)}, {"length", 60}})
	mapReduce(t, db, "events", hourMap, "hourly", bson.D{{"ts", bson.D{{"$gt", at(0, 0)}, {"$lt", at(23, 0)}}}})
	for _, step := range [][3]string{
		{"hourly", dayMap, "daily"},
		{"daily", monthMap, "monthly"},
		{"monthly", yearMap, "yearly"},
	} {
		mapReduce(t, db, step[0], step[1], step[2], bson.D{{"value.ts", bson.D{{"$gt", at(0, 0)}}}})
	}
	hours := hoursAndDays(t, db, "hourly")
	if len(hours) != 2 {
		t.Fatalf("%d hours", len(hours))
	}
	for i, want := range []struct {
		at                 time.Time
		total, count, mean float64
	}{{at(10, 0), 30, 2, 15}, {at(11, 0), 60, 1, 60}} {
		h := hours[i]
		if h.ID.U != "u1" || !h.ID.D.Equal(want.at) || h.Value.Total != want.total || h.Value.Count != want.count ||
			h.Value.Mean != want.mean || h.Value.TS.IsZero() {
			t.Errorf("hour %d is %+v", i, h)
		}
	}
	for name, first := range map[string]time.Time{
		"daily": at(0, 0), "monthly": time.Date(2000, 10, 1, 0, 0, 0, 0, time.UTC),
		"yearly": time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		got := hoursAndDays(t, db, name)
		if len(got) != 1 || !got[0].ID.D.Equal(first) || got[0].Value.Total != 90 ||
			got[0].Value.Count != 3 || got[0].Value.Mean != 30 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestWorkedReduceAgain is the example W045: two runs with the output mode reduce must give the
// same result as one run over all documents.
func TestWorkedReduceAgain(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("stats")
	day := `function() { emit(this.user, {total: this.length, count: 1}); }`
	events := db.Collection("events")
	for i, length := range []int{10, 20, 60} {
		insert(t, events, bson.D{{"_id", i}, {"user", "u1"}, {"length", length}})
	}
	mapReduce(t, db, "events", day, "once", bson.D{})
	mapReduce(t, db, "events", day, "twice", bson.D{{"_id", bson.D{{"$lt", 2}}}})
	mapReduce(t, db, "events", day, "twice", bson.D{{"_id", 2}})
	for _, name := range []string{"once", "twice"} {
		got := aggregate(t, db.Collection(name), bson.A{bson.D{{"$project", bson.D{
			{"_id", 0}, {"total", "$value.total"}, {"count", "$value.count"}, {"mean", "$value.mean"},
		}}}})
		want := bson.D{{"total", 90.0}, {"count", 3.0}, {"mean", 30.0}}
		if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWorkedWhere is the example W050: a condition that compares two fields of a document.
func TestWorkedWhere(t *testing.T) {
	t.Parallel()
	c := sheaftest.New(t).Database("members").Collection("accounts")
	for kind, ages := range map[string]bson.A{"joint": {40, 40}, "family": {40, 38}, "single": {40}} {
		members := bson.A{}
		for _, age := range ages {
			members = append(members, bson.D{{"age", age}})
		}
		insert(t, c, bson.D{{"type", kind}, {"member", members}})
	}
	sameAge := bson.E{"$where", "this.member[0].age == this.member[1].age"}
	cursor, err := c.Find(t.Context(), bson.D{{"type", bson.D{{"$in", bson.A{"joint", "family"}}}}, sameAge})
	if err != nil {
		t.Fatal(err)
	}
	if got := all(t, cursor); len(got) != 1 || got[0][1].Value != "joint" {
		t.Errorf("got %v", got)
	}
	if cursor, err = c.Find(t.Context(), bson.D{sameAge}); err == nil {
		err = cursor.All(t.Context(), new([]bson.D))
	}
	if err == nil {
		t.Error("a member that is not there has an age")
	}
}
