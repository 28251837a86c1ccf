package adversarial

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// largeCommands are commands that hold much memory while they run, because their arguments, results
// or values are large. They run to their end.
type largeCommands struct {
	name string
	// most is the memory that the server may take, in percent of the budget. mostAlone is the limit
	// if the commands run one at a time.
	most, mostAlone int64
	load            func(t *testing.T, coll *mongo.Collection)
	// short are the commands that also run in the short form, by name. rest are the other commands.
	short, rest map[string]bson.D
}

const largeLimit = 20_000 // maxTimeMS, which no command reaches

func aggregation(stages ...bson.D) bson.D {
	return bson.D{
		{"aggregate", "c"},
		{"pipeline", stages},
		{"cursor", bson.D{}},
		{"maxTimeMS", largeLimit},
	}
}

// numbers returns an expression that makes an array of n numbers. It is not constant, so that it is
// not computed in advance.
func numbers(n int) bson.D { return is("$range", bson.A{"$zero", n}) }

func mapping(input, in any) bson.D {
	return is("$map", bson.D{{"input", input}, {"in", in}})
}

// sizeOf returns an aggregate that makes an array and returns its length.
func sizeOf(array bson.D) bson.D { return aggregation(is("$project", is("n", is("$size", array)))) }

func finding(key string, v any) bson.D {
	return bson.D{{"find", "c"}, {key, v}, {"maxTimeMS", largeLimit}}
}

func updating(u any) bson.D {
	return bson.D{
		{"update", "c"},
		{"updates", bson.A{bson.D{{"q", is("_id", 0)}, {"u", u}}}},
		{"maxTimeMS", largeLimit},
	}
}

func largeCommandLists() []largeCommands {
	const fields = 300_000
	same := func(v any) bson.D { return manyFields(fields, func(int) any { return v }) }
	mask := bson.Binary{Data: bytes.Repeat([]byte{0xff}, 8<<20)}
	positions := many(1_000_000, func(i int) any { return int32(i) })
	bits := func(v any) bson.D { return finding("filter", is("b", is("$bitsAllSet", v))) }
	union := is("$unionWith", "c")
	push := func(v string) bson.D { return is("$push", v) }
	return []largeCommands{
		{
			name: "many documents",
			most: 135, mostAlone: 125,
			load: func(t *testing.T, coll *mongo.Collection) {
				t.Helper()
				docs := many(20_000, func(i int) any {
					return bson.D{
						{"_id", i},
						{"a", i % 1000},
						{"b", bson.Binary{Data: make([]byte, 20)}},
						{"x", strings.Repeat("x", 100)},
					}
				})
				if _, err := coll.InsertMany(t.Context(), docs); err != nil {
					t.Fatal(err)
				}
			},
			short: map[string]bson.D{
				"mask": bits(mask),
				"lookup": aggregation(is("$limit", 200),
					is("$lookup", bson.D{
						{"from", "c"},
						{"pipeline", bson.A{}},
						{"as", "x"},
					}),
					is("$group", bson.D{{"_id", nil}, {"x", push("$x")}})),
				"update":     updating(is("$set", same(int32(1)))),
				"projection": finding("projection", same(int32(1))),
			},
			rest: map[string]bson.D{
				"positions": bits(positions),
				"explained mask": {
					{"explain", bits(mask)[:2]},
					{"verbosity", "allPlansExecution"},
				},
				"bucketAuto": aggregation(union, union, union, is("$bucketAuto", bson.D{
					{"groupBy", "$a"},
					{"buckets", 5},
					{"output", is("x", push("$$ROOT"))},
				})),
				"set stage":       aggregation(is("$set", same("$a"))),
				"project stage":   aggregation(is("$project", same(int32(1)))),
				"groups":          aggregation(is("$group", append(is("_id", 1), same(is("$sum", "$a"))...))),
				"pipeline update": updating(bson.A{is("$set", same(int32(1)))}),
				"large expression": aggregation(is("$project",
					is("x", is("$concat", many(1_000_000, func(int) any { return "$a" }))))),
			},
		},
		{
			name: "expressions",
			most: 135, mostAlone: 125,
			load: func(t *testing.T, coll *mongo.Collection) {
				t.Helper()
				if _, err := coll.InsertOne(t.Context(),
					bson.D{{"_id", 0}, {"zero", 0}}); err != nil {
					t.Fatal(err)
				}
			},
			short: map[string]bson.D{
				"zip": sizeOf(is("$zip", is("inputs", bson.A{numbers(2_000_000), numbers(2_000_000)}))),
				"nested maps": sizeOf(mapping(numbers(2),
					mapping(numbers(2), mapping(numbers(2), mapping(numbers(1_000_000), "$$this"))))),
			},
			rest: map[string]bson.D{
				"map": sizeOf(mapping(numbers(2_000_000),
					bson.D{{"a", "$$this"}, {"b", bson.A{"$$this"}}})),
				"object": aggregation(is("$project",
					is("n", is("$bsonSize",
						bson.D{{"a", numbers(2_000_000)}, {"b", numbers(2_000_000)}})))),
				"concat": sizeOf(is("$concatArrays",
					bson.A{numbers(1_000_000), numbers(1_000_001), numbers(1_000_002), numbers(1_000_003)})),
			},
		},
		{
			name:      "large documents",
			most:      180, // storage takes some five times a document's size to flush it, and as much to compact it
			mostAlone: 140,
			load: func(t *testing.T, coll *mongo.Collection) {
				t.Helper()
				for i := range 4 {
					text := strings.Repeat([]string{"aa", "xa"}[i%2], 15<<19)
					if _, err := coll.InsertOne(t.Context(),
						bson.D{{"_id", i}, {"s", text}}); err != nil {
						t.Fatal(err)
					}
				}
			},
			short: map[string]bson.D{
				"collated sort": append(aggregation(is("$sort", is("s", 1)), is("$project", is("s", 0))),
					bson.E{"collation", is("locale", "en")}),
				"split": aggregation(is("$project", is("n", is("$size", is("$split", bson.A{"$s", "a"}))))),
				"regex": finding("filter", is("s", is("$regex", `(a*)*\1b`))),
			},
			rest: map[string]bson.D{
				"collated groups": append(aggregation(is("$group", is("_id", "$s")), is("$count", "n")),
					bson.E{"collation", is("locale", "en")}),
				"collated numbers": append(finding("sort", is("s", 1)), bson.E{"projection", is("_id", 1)},
					bson.E{
						"collation",
						bson.D{{"locale", "en"}, {"numericOrdering", true}},
					}),
				"collated distinct": {
					{"distinct", "c"},
					{"key", "s"},
					{"collation", is("locale", "en")},
				},
				"toUpper":      aggregation(is("$project", is("n", is("$strLenBytes", is("$toUpper", "$s"))))),
				"small change": updating(is("$inc", is("n", 1))),
				"many changes": {
					{"update", "c"},
					{"updates", bson.A{bson.D{
						{"q", bson.D{}},
						{"u", is("$inc", is("n", 1))},
						{"multi", true},
					}}},
				},
				"findAndModify": {
					{"findAndModify", "c"},
					{"query", is("_id", 0)},
					{"update", is("$inc", is("n", 1))},
					{"new", true},
				},
				"pipeline": {
					{"findAndModify", "c"},
					{"query", is("_id", 1)},
					{"update", bson.A{is("$set", is("n", "$_id"))}},
				},
				"graphLookup": aggregation(is("$graphLookup",
					bson.D{
						{"from", "c"},
						{"startWith", "$_id"},
						{"connectFromField", "_id"},
						{"connectToField", "_id"},
						{"as", "r"},
					}), is("$project", is("n", is("$size", "$r")))),
				"windows": aggregation(is("$setWindowFields",
					bson.D{{"sortBy", is("_id", 1)}, {"output", is("r", is("$first", "$s"))}}),
					is("$project", is("n", is("$strLenBytes", "$r")))),
				"facet": aggregation(is("$facet",
					bson.D{
						{"a", bson.A{
							is("$sort", is("s", 1)), is("$limit", 1),
							is("$project", is("s", 0)),
						}},
						{"b", bson.A{
							is("$sort", is("s", -1)), is("$limit", 1),
							is("$project", is("s", 0)),
						}},
					})),
				"out":   aggregation(is("$out", "o")),
				"merge": aggregation(is("$merge", "o")),
				"sort":  aggregation(is("$sort", is("s", 1)), is("$project", is("s", 0))),
				"function": aggregation(is("$project",
					is("n", is("$function",
						bson.D{
							{"body", "function(s) { return s.length }"},
							{"args", bson.A{"$s"}},
							{"lang", "js"},
						})))),
			},
		},
	}
}

// TestMemoryOfLargeCommands runs commands that hold much memory, first on 16 connections at the
// same time, and then one at a time. Their memory must count in the budget, and requests beyond the
// budget must be refused. The memory that the kernel counts must stay below 1.35 times the budget,
// and below 1.25 times for single commands. If storage flushes and compacts documents of 15 MiB,
// the limits are 1.8 and 1.4 times. Memory that is not counted would take two to ten times the
// budget.
func TestMemoryOfLargeCommands(t *testing.T) {
	needsServer(t)
	budget := *workloadBudget << 20
	for _, list := range largeCommandLists() {
		t.Run(list.name, func(t *testing.T) {
			c := startServer(t, budget, "")
			db := c.client(t).Database("d")
			list.load(t, db.Collection("c"))
			run := func(cmds map[string]bson.D) {
				for name, cmd := range cmds {
					if !strings.Contains(name, *only) {
						continue
					}
					raw, err := bson.Marshal(cmd)
					if err != nil {
						t.Fatal(err)
					}
					c.resetPeak(t)
					start := time.Now()
					codes := attackTogether(t, db, name, bson.Raw(raw))
					peak := c.status(t, "VmHWM")
					c.resetPeak(t)
					alone := db.RunCommand(t.Context(), bson.Raw(raw)).Err()
					peakAlone := c.status(t, "VmHWM")
					t.Logf("%s: %d bytes, %v, peak %d MiB (%.2f), codes %s, alone %d MiB (%.2f), %v", name, len(raw), time.Since(start).Round(time.Millisecond), peak>>20, float64(peak)/float64(budget), fmt.Sprint(codes), peakAlone>>20, float64(peakAlone)/float64(budget), alone)
					if peakAlone > budget/100*list.mostAlone {
						t.Errorf("%s: the server took %d MiB of a budget of %d MiB for one command", name, peakAlone>>20, budget>>20)
					}
					if peak > budget/100*list.most {
						t.Errorf("%s: the server took %d MiB of a budget of %d MiB", name, peak>>20, budget>>20)
					}
				}
			}
			run(list.short)
			if *long {
				run(list.rest)
			}
		})
	}
}
