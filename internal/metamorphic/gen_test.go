package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// operation is one kind of operation and its frequency.
type operation struct {
	weight int
	make   func(g *gen) bson.D
}

// generators are the kinds of operations.
var generators = []operation{
	{6, (*gen).insert},
	{3, (*gen).updateMany},
	{2, (*gen).updateByID},
	{1, (*gen).findAndModify},
	{2, (*gen).delete},
	{3, (*gen).createIndex},
	{1, (*gen).dropIndex},
	{1, (*gen).hideIndex},
	{14, (*gen).find},
	{3, (*gen).count},
	{3, (*gen).distinct},
	{2, (*gen).aggregate},
	{1, func(*gen) bson.D { return bson.D{{"restart", 1}} }},
}

// indexCommands concern indexes. Variants without indexes omit them.
var indexCommands = map[string]bool{"createIndexes": true, "dropIndexes": true, "collMod": true}

const collName = "c"

// family is the subject of a run's operations, in addition to scalars.
type family struct {
	// patience is the time for runs if no flag sets it.
	patience time.Duration
	// begin are commands for all variants, before anything else.
	begin []bson.D
	// operations are additional kinds of operations.
	operations []operation
	// keys are additional index keys.
	keys []bson.D
	// fields returns additional fields of a document. It may be nil.
	fields func(g *gen) bson.D
	// predicate returns a predicate on the additional fields. It may be nil.
	predicate func(g *gen) bson.D
	// update returns an update of one of the additional fields. It may be nil.
	update func(g *gen) bson.D
}

var scalarFamily = &family{patience: 6 * time.Second, keys: indexKeys}

// newRun makes the operations of a run.
func newRun(f *family, seed uint64, n int) []bson.D {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 11)), family: f}
	kinds := slices.Concat(generators, f.operations)
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	ops := append(slices.Clone(f.begin), g.insert(), g.insert(), g.createIndex(), g.insert())
	for len(ops) < n {
		at := g.IntN(total)
		for _, k := range kinds {
			if at -= k.weight; at < 0 {
				ops = append(ops, k.make(g))
				break
			}
		}
	}
	return ops
}

func (g *gen) insert() bson.D {
	docs := bson.A{}
	for range 1 + g.IntN(8) {
		docs = append(docs, g.newDoc())
	}
	if g.chance(10) {
		docs = append(docs, append(bson.D{{"_id", g.id()}}, g.fields()...)) // the _id may exist already
	}
	return bson.D{
		{"insert", collName},
		{"documents", docs},
		{"ordered", g.chance(2)},
	}
}

// safeUpdate returns an update that no document refuses.
func (g *gen) safeUpdate() any {
	op := func(name, path string, v any) bson.D {
		return bson.D{{name, bson.D{{path, v}}}}
	}
	if g.family.update != nil && g.chance(3) {
		return g.family.update(g)
	}
	switch g.IntN(14) {
	case 0, 1:
		return op("$set", pick(g, []string{"b", "c"}), g.small())
	case 2:
		return op("$set", "a", g.value(2))
	case 3:
		return op("$unset", pick(g, []string{"a", "b", "c", "arr", "o"}), "")
	case 4:
		return op("$inc", "n", pick(g, []any{int32(1), 1.5, int64(-3)}))
	case 5:
		return op("$push", "arr", g.small())
	case 6:
		return op("$push", "arr",
			bson.D{{"$each", g.array()}, {"$sort", 1}, {"$slice", -3}})
	case 7:
		return op("$addToSet", "arr", g.small())
	case 8:
		return op("$pull", "arr", g.small())
	case 9:
		return op("$min", "b", g.small())
	case 10:
		return op("$max", "c", g.small())
	case 11:
		return op("$set", "o.p", g.small())
	case 12:
		return op("$pop", "arr", 1)
	default:
		return bson.A{bson.D{{
			"$set",
			bson.D{{"c", "$b"}, {"o", bson.D{{"p", "$n"}}}},
		}}}
	}
}

func (g *gen) updateMany() bson.D {
	return update(g.collated(bson.D{
		{"q", g.filter(1)},
		{"u", g.safeUpdate()},
		{"multi", true},
	}))
}

func (g *gen) updateByID() bson.D {
	q := bson.D{{"_id", g.id()}}
	u := g.safeUpdate()
	if g.chance(3) {
		u = g.fields()
	}
	return update(bson.D{{"q", q}, {"u", u}, {"upsert", g.chance(2)}})
}

func update(statement bson.D) bson.D {
	return bson.D{{"update", collName}, {"updates", bson.A{statement}}}
}

func (g *gen) findAndModify() bson.D {
	cmd := g.collated(bson.D{
		{"findAndModify", collName},
		{"query", g.filter(1)},
		{"sort", g.sort()},
	})
	if g.chance(3) {
		return append(cmd, bson.E{"remove", true})
	}
	return append(cmd, bson.E{"update", g.safeUpdate()}, bson.E{"new", g.chance(2)})
}

func (g *gen) delete() bson.D {
	q := bson.D{{"_id", g.id()}}
	if g.chance(3) {
		q = bson.D{{pick(g, paths), g.small()}, {"b", g.predicate(0)}}
	}
	return bson.D{
		{"delete", collName},
		{"deletes", bson.A{g.collated(bson.D{{"q", q}, {"limit", 0}})}},
	}
}

func indexName(i int) string { return fmt.Sprint("ix", i) }

func (g *gen) createIndex() bson.D {
	key := pick(g, g.family.keys)
	spec := bson.D{{"key", key}, {"name", indexName(g.nextIndex)}}
	g.nextIndex++
	if key[0].Key == "$**" && g.chance(2) {
		spec = append(spec, bson.E{"wildcardProjection", pick(g, wildcardProjections)})
	}
	switch g.IntN(6) {
	case 0:
		spec = append(spec, bson.E{"sparse", true})
	case 1:
		spec = append(spec, bson.E{"partialFilterExpression", pick(g, partialFilters)})
	}
	return bson.D{{"createIndexes", collName}, {"indexes", bson.A{g.collated(spec)}}}
}

// collated adds a collation to a command, a statement or an index, or leaves it unchanged.
func (g *gen) collated(spec bson.D) bson.D {
	if !g.chance(3) {
		return spec
	}
	return append(spec, bson.E{"collation", pick(g, collations)})
}

// collations are few, so that queries and indexes often have the same collation.
var collations = []bson.D{
	{{"locale", "en"}, {"strength", 1}},
	{{"locale", "en"}, {"strength", 2}},
	{{"locale", "sv"}},
	{{"locale", "en"}, {"alternate", "shifted"}},
}

func (g *gen) dropIndex() bson.D {
	return bson.D{{"dropIndexes", collName}, {"index", indexName(g.IntN(max(1, g.nextIndex)))}}
}

func (g *gen) hideIndex() bson.D {
	index := bson.D{{"name", indexName(g.IntN(max(1, g.nextIndex)))}, {"hidden", g.chance(2)}}
	return bson.D{{"collMod", collName}, {"index", index}}
}

func (g *gen) find() bson.D {
	cmd := bson.D{{"find", collName}, {"filter", g.filter(2)}}
	if g.chance(2) {
		cmd = append(cmd, bson.E{"sort", g.sort()})
		if g.chance(2) {
			cmd = append(cmd, bson.E{"skip", g.IntN(4)}, bson.E{"limit", 1 + g.IntN(6)})
		}
	}
	if g.chance(3) {
		cmd = append(cmd, bson.E{"projection", g.projection()})
	}
	return g.collated(cmd)
}

func (g *gen) count() bson.D {
	return g.collated(bson.D{{"count", collName}, {"query", g.filter(2)}})
}

func (g *gen) distinct() bson.D {
	key := pick(g, []string{"a", "b", "c", "o.p", "a.x", "o", "arr", "n", "_id"})
	return bson.D{{"distinct", collName}, {"key", key}, {"query", g.filter(1)}}
}

func (g *gen) aggregate() bson.D {
	stages := bson.A{bson.D{{"$match", g.filter(1)}}, bson.D{{"$sort", g.sort()}}}
	if g.chance(2) {
		stages = append(stages, bson.D{{"$limit", 1 + g.IntN(6)}})
	}
	switch g.IntN(3) {
	case 0:
		stages = append(stages, bson.D{{"$count", "n"}})
	case 1:
		stages = append(stages, bson.D{{"$unwind", "$arr"}},
			bson.D{{"$project", bson.D{{"arr", 1}}}})
	}
	cmd := g.collated(bson.D{{"aggregate", collName}, {"pipeline", stages}})
	return append(cmd, bson.E{"cursor", bson.D{}})
}
