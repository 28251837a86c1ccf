package adversarial

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// longTexts returns short texts, by their kind of content. Long texts that repeat them have
// collation keys that take long to compute.
func longTexts() map[string]string {
	return map[string]string{
		"letters": "abcdefgh", "accents": "éàüöñçßø", "digits": "12345678",
		"marks": "\u0301\u0302", "decomposed": "áé̂", "syllables": "각각힣",
	}
}

// collatedPlaces returns commands for all places in which strings are compared, or made into keys,
// by a collation. The long text is in the field s of the document with the _id id. other is a text
// with the same beginning and about the same length.
func collatedPlaces(id string, other string) map[string]bson.D {
	find := func(filter bson.D, more ...bson.E) bson.D {
		return append(bson.D{
			{"find", "texts"},
			{"filter", append(is("_id", id), filter...)},
			{"projection", is("_id", 1)},
		}, more...)
	}
	agg := func(stages ...any) bson.D {
		all := append(bson.A{is("$match", is("_id", id))}, stages...)
		return bson.D{
			{"aggregate", "texts"},
			{"pipeline", append(all, is("$project", is("n", "$n")))},
			{"cursor", bson.D{}},
		}
	}
	project := func(e any) bson.D { return agg(is("$set", is("n", e))) }
	group := func(acc any) bson.D {
		return agg(is("$unwind", bson.D{{"path", "$a"}}),
			is("$group", bson.D{{"_id", 1}, {"x", acc}}))
	}
	update := func(u any, more ...bson.E) bson.D {
		statement := append(bson.D{{"q", is("_id", id)}, {"u", u}}, more...)
		return bson.D{{"update", "texts"}, {"updates", bson.A{statement}}}
	}
	sum := is("$concat", bson.A{"$s", "x"})
	both := bson.A{"$s", sum}
	out := map[string]bson.D{
		"match": find(is("s", other)), "in": find(is("s", is("$in", bson.A{other, "x"}))),
		"nin": find(is("s", is("$nin", bson.A{other}))), "range": find(is("s", is("$gt", other))),
		"sort":             find(nil, bson.E{"sort", is("s", 1)}),
		"sort of an array": find(nil, bson.E{"sort", is("a", -1)}),
		"elemMatch":        find(is("a", is("$elemMatch", is("$eq", other)))),
		"expr":             find(is("$expr", is("$gt", bson.A{"$s", other}))),
		"distinct":         {{"distinct", "texts"}, {"key", "s"}, {"query", is("_id", id)}},
		"sort by an index": {
			{"find", "keyed"}, {"filter", is("s", is("$gt", other))},
		},
		"min": {{"find", "keyed"}, {"min", is("s", other)}, {"hint", is("s", 1)}},
		"createIndexes": {
			{"createIndexes", "texts"},
			{"indexes", bson.A{bson.D{
				{"key", is("s", 1)},
				{"name", "s"},
				{"collation", is("locale", "en")},
			}}},
		},
		"insert":     {{"insert", "keyed"}, {"documents", bson.A{is("s", other)}}},
		"group":      agg(is("$group", is("_id", "$s")), is("$set", is("n", 1))),
		"bucketAuto": agg(is("$bucketAuto", bson.D{{"groupBy", "$s"}, {"buckets", 2}})),
		"bucket": agg(is("$bucket",
			bson.D{
				{"groupBy", "$s"},
				{"boundaries", bson.A{"", other}},
				{"default", "\U0010ffff"},
			})),
		"lookup": agg(is("$lookup",
			bson.D{
				{"from", "texts"},
				{"localField", "s"},
				{"foreignField", "s"},
				{"as", "l"},
			})),
		"graphLookup": agg(is("$graphLookup",
			bson.D{
				{"from", "texts"},
				{"startWith", "$s"},
				{"connectFromField", "s"},
				{"connectToField", "s"},
				{"as", "l"},
			})),
		"windows": agg(is("$unwind", "$a"),
			is("$setWindowFields", bson.D{
				{"partitionBy", "$a"},
				{"sortBy", is("a", 1)},
				{"output", is("m", is("$max", "$a"))},
			})),
		"sort stage": agg(is("$unwind", "$a"), is("$sort", is("a", 1))),
		"array filter": update(is("$set", is("a.$[e]", 1)),
			bson.E{"arrayFilters", bson.A{is("e", is("$lt", other))}}),
		"$min update": update(is("$min", is("s", other))), "$pull": update(is("$pull", is("a", other))),
		"$addToSet":      update(is("$addToSet", is("a", other))),
		"update by $set": update(bson.A{is("$set", is("n", is("$gt", both)))}),
		"$in":            project(is("$in", bson.A{sum, "$a"})), "$indexOfArray": project(is("$indexOfArray", bson.A{"$a", sum})),
	}
	for _, op := range []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$cmp", "$min", "$max"} {
		out[op] = project(is(op, both))
	}
	for _, op := range []string{"$setUnion", "$setIntersection", "$setDifference", "$setEquals", "$setIsSubset"} {
		out[op] = project(is(op, bson.A{bson.A{"$s", sum}, "$a"}))
	}
	for _, op := range []string{"$min", "$max", "$addToSet"} {
		out["group "+op] = group(is(op, "$a"))
	}
	for _, op := range []string{"$minN", "$maxN"} {
		out["group "+op] = group(is(op, bson.D{{"input", "$a"}, {"n", 2}}))
	}
	for _, op := range []string{"$top", "$bottom"} {
		out["group "+op] = group(is(op, bson.D{{"sortBy", is("a", 1)}, {"output", "$_id"}}))
	}
	return out
}

// interruptCollations interrupts commands that compare long texts, or make keys of them, by
// collations.
func interruptCollations(t *testing.T, db *mongo.Database) {
	collations := []bson.D{
		is("locale", "en"),
		{{"locale", "en"}, {"numericOrdering", true}},
		{{"locale", "fr_CA"}, {"strength", 5}, {"normalization", true}},
		{{"locale", "cs"}},
		{{"locale", "en"}, {"alternate", "shifted"}, {"strength", 4}},
	}
	index := bson.D{
		{"createIndexes", "keyed"},
		{"indexes", bson.A{bson.D{
			{"key", is("s", 1)},
			{"name", "s"},
			{"collation", is("locale", "en")},
		}}},
	}
	if err := db.RunCommand(t.Context(), index).Err(); err != nil {
		t.Fatal(err)
	}
	m := newMeasure(t, db)
	for name, unit := range longTexts() {
		text := strings.Repeat(unit, scaled(7<<20)/len(unit))
		half := text[:len(text)/2/len(unit)*len(unit)]
		if _, err := db.Collection("texts").
			InsertOne(t.Context(), bson.D{
				{"_id", name},
				{"s", text},
				{"a", bson.A{half, half + "a", "b"}},
			}); err != nil {
			t.Fatal(err)
		}
		n := 0
		for place, cmd := range collatedPlaces(name, "\u0001"+text[:len(text)-len(unit)]) {
			for i, collation := range collations {
				if n++; !*long && n%shortShare(16) != 1 {
					continue
				}
				with := withCollation(cmd, collation)
				if place == "min" || place == "sort by an index" {
					with = withCollation(cmd, collations[0])
				}
				m.check(fmt.Sprintf("%s %d of %s", place, i, name), with)
			}
		}
	}
	m.report()
}

// withCollation returns a command with a collation, if the command supports one.
func withCollation(cmd, collation bson.D) bson.D {
	with := bson.E{"collation", collation}
	switch cmd[0].Key {
	case "insert", "createIndexes":
		return cmd
	case "update":
		statement := cmd[1].Value.(bson.A)[0].(bson.D)
		return bson.D{cmd[0], {"updates", bson.A{append(statement[:len(statement):len(statement)], with)}}}
	}
	return append(cmd[:len(cmd):len(cmd)], with)
}
