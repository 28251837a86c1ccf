package main

import (
	"go.mongodb.org/mongo-driver/bson"
)

const (
	// otherCollection is the target of $out and $merge.
	otherCollection = "o"
	// foreignCollection holds the documents that joins look up.
	foreignCollection = "f"
	// viewName is a view on the collection, and viewOnView a view on that view.
	viewName   = "v"
	viewOnView = "w"
)

// pipelineQuestions lists the kinds of commands in a pipeline group, apart from aggregate. Each
// belongs to a family.
var pipelineQuestions = []struct {
	family string
	question
}{
	{familyView, question{3, (*generator).computedFind}},
	{familyView, question{1, (*generator).typedCount}},
	{familyView, question{1, (*generator).typedDistinct}},
	{familyWrite, question{3, (*generator).updateOneByPipeline}},
	{familyWrite, question{1, (*generator).updateManyByPipeline}},
	{familyWrite, question{1, (*generator).modifyByPipeline}},
}

// pipelineScenario returns a group of pipelines over typed documents. The documents are inserted in
// the order of their _id. So a server that scans in insertion order and a server that scans by _id
// read the documents in the same order.
func (g *generator) pipelineScenario() scenario {
	insertInto := func(name string, n int) bson.D {
		var docs []bson.D
		for i := range n {
			docs = append(docs, g.typedDocument(int32(i)))
		}
		c := insertCommand(docs...)
		c[0].Value = name
		return c
	}
	n := 5 + g.rnd.IntN(20)
	for i := range n {
		g.ids = append(g.ids, int32(i))
	}
	steps := []bson.D{insertInto(collection, n)}
	if g.families.has(familyView) {
		steps = append(steps, insertInto(foreignCollection, 1+g.rnd.IntN(12)))
	}
	if g.indexed = g.chance(4); g.indexed {
		for range 1 + g.rnd.IntN(2) {
			steps = append(steps, g.typedIndex())
		}
	}
	if g.families.has(familyView) {
		steps = append(steps, g.createView(viewName, collection), g.createView(viewOnView, viewName))
	}
	if g.families.has(familyOutput) && g.chance(2) {
		steps = append(steps, createIndex(otherCollection, bson.D{{"q", int32(1)}}, true))
	}
	for range 30 {
		steps = append(steps, g.pipelineQuestion())
	}
	return scenario{Steps: steps}
}

func (g *generator) pipelineQuestion() bson.D {
	n := g.rnd.IntN(50)
	for _, q := range pipelineQuestions {
		if n -= q.weight; n < 0 && g.families.has(q.family) {
			return q.make(g)
		}
	}
	return g.aggregate()
}

func createIndex(name string, key bson.D, unique bool) bson.D {
	text := ""
	for _, e := range key {
		text += e.Key + "_"
	}
	spec := bson.D{{"key", key}, {"name", text}}
	if unique {
		spec = append(spec, bson.E{"unique", true})
	}
	return bson.D{{"createIndexes", name}, {"indexes", bson.A{spec}}}
}

func (g *generator) typedIndex() bson.D {
	key := bson.D{{pick(g, []string{"n", "s", "l", "g", "t.n", "o.n", "q"}), pick(g, []any{int32(1), int32(-1)})}}
	if second := pick(g, []string{"q", "_id", "i", "g"}); g.chance(3) && !hasField(key, second) {
		key = append(key, bson.E{second, int32(1)})
	}
	return createIndex(pick(g, []string{collection, collection, foreignCollection}), key, false)
}

// createView returns a command that creates a view. The pipeline of the view does not change the
// order of the documents.
func (g *generator) createView(name, on string) bson.D {
	stages := bson.A{}
	if g.chance(2) {
		stages = append(stages, op("$match", bson.D{guarded(g.typedPath(), g.predicate(1))}))
		if g.indexed {
			stages = append(stages, g.byID()...)
		}
	}
	stages = append(stages, pick(g, []any{
		op("$addFields", bson.D{{"v", op("$ifNull", bson.A{"$n", "$s", "none"})}}),
		op("$project", bson.D{{"n", int32(1)}, {"g", int32(1)}, {"q", "$q"}, {"t", int32(1)}, {"s", "$o.s"}}),
		op("$unset", bson.A{"a", "o.s"}),
		op("$limit", int32(7)),
		op("$sort", bson.D{{"g", int32(-1)}, {"_id", int32(1)}}),
	}))
	if g.chance(6) {
		stages = append(stages, op("$group", bson.D{{"_id", "$g"}, {"n", op("$sum", "$q")}, {"l", op("$push", "$n")}}))
		stages = append(stages, g.byID()...)
	}
	return bson.D{{"create", name}, {"viewOn", on}, {"pipeline", stages}}
}

// source returns the name of the collection or view that a command reads.
func (g *generator) source() any {
	if !g.families.has(familyView) {
		return collection
	}
	return pick(g, []string{
		collection, collection, collection, collection, collection, foreignCollection, viewName,
		viewName, viewOnView, "nowhere",
	})
}

// collectionless returns an aggregate command on no collection. Its pipeline contains its own
// documents.
func (g *generator) collectionless() bson.D {
	docs := bson.A{}
	for i := range 1 + g.rnd.IntN(4) {
		docs = append(docs, op("$literal", g.typedDocument(int32(i))))
	}
	list := any(docs)
	if g.chance(4) {
		list = pick(g, []any{
			g.expression(arrayKind, 1),
			op("$map", fields("input", op("$range", bson.A{int32(0), int32(4)}), "in",
				bson.D{{"_id", "$$this"}, {"n", "$$this"}})),
		})
	}
	return aggregateOn(int32(1), append(bson.A{op("$documents", list)}, g.pipeline(1+g.rnd.IntN(2))...))
}

// withLet adds two variables to a command. The expressions of the command may use them.
func (g *generator) withLet(command func() bson.D) bson.D {
	var c bson.D
	g.within([]string{"x", "y"}, func() any { c = command(); return nil })
	return append(c, bson.E{
		"let",
		bson.D{{"x", g.constant(anyKind)}, {"y", op("$add", bson.A{int32(1), int32(g.rnd.IntN(3))})}},
	})
}

// output returns a stage, $out or $merge, that writes the results to another collection.
func (g *generator) output() bson.D {
	if g.chance(3) {
		return op("$out", otherCollection)
	}
	matched := func() any {
		return pick(g, []any{
			"replace", "keepExisting", "merge", "fail",
			bson.A{op("$set", bson.D{{"n", "$$new.n"}})},
			bson.A{op("$addFields",
				bson.D{
					{"w", g.expression(anyKind, 1)},
					{"z", op("$mergeObjects", bson.A{"$$new.o", "$o"})},
				}), op("$unset", "s")},
			bson.A{op("$replaceWith", op("$mergeObjects", bson.A{"$$ROOT", "$$new"}))},
		})
	}
	return op("$merge", fields("into", otherCollection, "on",
		g.maybe(4, func() any { return pick(g, []any{"_id", "q", bson.A{"q"}, bson.A{"_id", "q"}}) }),
		"whenMatched", g.maybe(2, matched),
		"whenNotMatched", g.maybe(2, func() any { return pick(g, []any{"insert", "discard", "fail"}) })))
}

// computedFind returns a find with expressions in its filter and projection. It reads the
// collection or a view.
func (g *generator) computedFind() bson.D {
	make := func() bson.D {
		c := bson.D{{"find", g.source()}, {"filter", g.typedFilter()}}
		if !g.chance(3) {
			c = append(c, bson.E{"projection", g.projectStage()})
		}
		if g.chance(2) {
			c = append(c, bson.E{"sort", g.typedSort()})
		}
		return c
	}
	if g.chance(3) {
		return g.withLet(make)
	}
	return make()
}

func (g *generator) typedCount() bson.D {
	c := bson.D{{"count", g.source()}, {"query", g.typedFilter()}}
	return append(c, fields("skip", g.maybe(4, func() any { return int32(g.rnd.IntN(4)) }), "limit",
		g.maybe(4, func() any { return int32(g.rnd.IntN(4)) }))...)
}

func (g *generator) typedDistinct() bson.D {
	return bson.D{{"distinct", g.source()}, {"key", g.typedPath()}, {"query", g.typedFilter()}}
}

// updatePipeline returns the stages of an update by a pipeline.
func (g *generator) updatePipeline() bson.A {
	stages := bson.A{}
	for range 1 + g.rnd.IntN(2) {
		stages = append(stages, pick(g, []func() any{
			func() any { return op(pick(g, []string{"$set", "$addFields"}), g.computed()) },
			func() any { return op(pick(g, []string{"$set", "$addFields"}), g.computed()) },
			func() any { return op("$unset", g.unset()) },
			func() any { return op("$project", g.projectStage()) },
			func() any {
				return op(pick(g, []string{"$replaceWith"}),
					op("$mergeObjects", bson.A{"$$ROOT", g.expression(objectKind, 1)}))
			},
			func() any { return op("$replaceRoot", fields("newRoot", g.expression(objectKind, 1))) },
		})())
	}
	return stages
}

func (g *generator) updateOneByPipeline() bson.D {
	stmt := bson.D{{"q", bson.D{{"_id", g.anyID()}}}, {"u", g.updatePipeline()}}
	if g.chance(4) {
		stmt = append(stmt, bson.E{"upsert", true})
	}
	if g.chance(4) {
		stmt = append(stmt, bson.E{"c", bson.D{{"x", g.constant(anyKind)}}})
	}
	return updateCommand(stmt, nil)
}

func (g *generator) updateManyByPipeline() bson.D {
	return updateCommand(bson.D{{"q", g.typedFilter()}, {"u", g.updatePipeline()}, {"multi", true}}, nil)
}

func (g *generator) modifyByPipeline() bson.D {
	return append(bson.D{
		{"findAndModify", collection},
		{"query", bson.D{{"_id", g.anyID()}}},
		{"update", g.updatePipeline()},
	},
		fields("new", g.chance(2), "fields", g.maybe(3, func() any { return g.projectStage() }), "upsert",
			g.maybe(4, func() any { return true }))...)
}
