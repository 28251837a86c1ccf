package main

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
)

// question generates one kind of command.
type question struct {
	weight int
	make   func(g *generator) bson.D
}

// questions lists the kinds of commands of a group without pipelines, with their weights.
var questions = []question{
	{40, (*generator).find},
	{6, (*generator).count},
	{6, (*generator).distinct},
	{10, (*generator).updateOne},
	{10, (*generator).updateMany},
	{4, (*generator).updatePositional},
	{8, (*generator).findAndModify},
	{3, (*generator).remove},
	{3, (*generator).insert},
}

// scenario returns the commands of one group: inserts, indexes, and then either pipelines or other
// commands.
func (g *generator) scenario() scenario {
	if g.families.pipelines() && (!g.families.has(familyCRUD) || g.chance(2)) {
		return g.pipelineScenario()
	}
	var docs []bson.D
	for range 5 + g.rnd.IntN(30) {
		docs = append(docs, g.document())
	}
	steps := []bson.D{append(insertCommand(docs...), bson.E{"ordered", false})}
	for range g.rnd.IntN(4) {
		steps = append(steps, g.index())
	}
	total := 0
	for _, q := range questions {
		total += q.weight
	}
	for range 30 {
		n := g.rnd.IntN(total)
		for _, q := range questions {
			if n -= q.weight; n < 0 {
				steps = append(steps, q.make(g))
				break
			}
		}
	}
	return scenario{Steps: steps}
}

// index returns a command that creates an index.
func (g *generator) index() bson.D {
	key := bson.D{}
	name := ""
	for range 1 + g.rnd.IntN(3) {
		path := g.path()
		if hasField(key, path) {
			continue
		}
		direction := pick(g, []any{int32(1), int32(-1)})
		key = append(key, bson.E{path, direction})
		name += fmt.Sprintf("%s_%d_", path, direction)
	}
	spec := bson.D{{"key", key}, {"name", name}}
	switch {
	case !g.scanB && g.chance(8):
		spec = append(spec, bson.E{"unique", true})
	case g.chance(6):
		spec = append(spec, bson.E{"sparse", true})
	case g.chance(6):
		condition := pick(g, []any{op("$exists", true), op("$gt", int32(1)), op("$type", "string"), int32(1)})
		spec = append(spec, bson.E{"partialFilterExpression", bson.D{{g.path(), condition}}})
	}
	return bson.D{{"createIndexes", collection}, {"indexes", bson.A{spec}}}
}

func (g *generator) find() bson.D {
	c := bson.D{{"find", collection}, {"filter", g.filter(2)}}
	if g.chance(3) {
		c = append(c, bson.E{"projection", g.projection()})
	}
	if g.chance(2) {
		sort := g.sort()
		c = append(withoutPositions(c, sort), bson.E{"sort", sort})
	}
	if g.chance(5) {
		c = append(c, bson.E{"skip", int32(g.rnd.IntN(5))})
	}
	if g.chance(5) {
		c = append(c, bson.E{"limit", int32(1 + g.rnd.IntN(6))})
	}
	if g.chance(8) {
		c = append(c, bson.E{"batchSize", int32(g.rnd.IntN(4))})
	}
	return c
}

// withoutPositions removes paths with an array position, such as a.1, from a find's projection if
// the find sorts by the same path. The 9.0 engine may project before it sorts, and the projection
// {"a.1": 1} turns ["x", 1] into []. Versions up to 8.0 sort the stored documents.
func withoutPositions(cmd, sort bson.D) bson.D {
	at := slices.IndexFunc(cmd, func(e bson.E) bool { return e.Key == "projection" })
	if at < 0 {
		return cmd
	}
	projection, _ := cmd[at].Value.(bson.D)
	cmd[at].Value = slices.DeleteFunc(slices.Clone(projection),
		func(e bson.E) bool { return arrayPosition.MatchString(e.Key) && hasField(sort, e.Key) })
	return cmd
}

func (g *generator) count() bson.D {
	c := bson.D{{"count", collection}, {"query", g.filter(2)}}
	if g.chance(4) {
		c = append(c, bson.E{"skip", int32(g.rnd.IntN(5))})
	}
	if g.chance(4) {
		c = append(c, bson.E{"limit", int32(g.rnd.IntN(6))})
	}
	return c
}

func (g *generator) distinct() bson.D {
	return bson.D{{"distinct", collection}, {"key", g.path()}, {"query", g.filter(1)}}
}

func updateCommand(stmt bson.D, filters bson.A) bson.D {
	if filters != nil {
		stmt = append(stmt, bson.E{"arrayFilters", filters})
	}
	return bson.D{{"update", collection}, {"updates", bson.A{stmt}}}
}

// updateOne returns an update of one document. It selects the document by _id, because otherwise
// the query plan would decide which document is updated.
func (g *generator) updateOne() bson.D {
	u, filters := g.update(false)
	q := bson.D{{"_id", g.anyID()}}
	if g.chance(3) {
		q = g.addClause(q, 1)
	}
	stmt := bson.D{{"q", q}, {"u", u}}
	if g.chance(3) {
		if g.chance(3) {
			stmt[0].Value = g.upsertFilter()
		}
		stmt = append(stmt, bson.E{"upsert", !mayBeFalse(stmt[0].Value)})
	}
	return updateCommand(stmt, filters)
}

// mayBeFalse reports whether MongoDB may detect that a query matches nothing. MongoDB then ignores
// the other clauses of the query when it builds an upserted document from them. Different versions
// detect different queries.
func mayBeFalse(v any) bool {
	switch v := v.(type) {
	case bson.D:
		for _, e := range v {
			list, isList := e.Value.(bson.A)
			if e.Key == "$nor" || e.Key == "$jsonSchema" || e.Key == "$not" ||
				isList && len(list) == 0 || mayBeFalse(e.Value) {
				return true
			}
		}
	case bson.A:
		return slices.ContainsFunc(v, mayBeFalse)
	}
	return false
}

// upsertFilter returns a filter that matches no document, for an upsert. Its equalities become
// fields of the upserted document.
func (g *generator) upsertFilter() bson.D {
	f := bson.D{{"none", "here"}}
	for range g.rnd.IntN(3) {
		f = g.addClause(f, 1)
	}
	return f
}

func (g *generator) updateMany() bson.D {
	u, filters := g.update(true)
	return updateCommand(bson.D{{"q", g.filter(1)}, {"u", u}, {"multi", true}}, filters)
}

func (g *generator) updatePositional() bson.D {
	q, u := g.positional()
	return updateCommand(bson.D{{"q", q}, {"u", u}}, nil)
}

func (g *generator) findAndModify() bson.D {
	c := bson.D{{"findAndModify", collection}, {"query", g.filter(1)}, {"sort", g.sort()}}
	if g.chance(6) {
		c = append(c, bson.E{"remove", true})
	} else {
		u, filters := g.update(false)
		c = append(c, bson.E{"update", u}, bson.E{"new", g.chance(2)})
		if g.chance(6) {
			c = append(c, bson.E{"upsert", !mayBeFalse(c[1].Value)})
		}
		if filters != nil {
			c = append(c, bson.E{"arrayFilters", filters})
		}
	}
	if g.chance(4) {
		c = append(c, bson.E{"fields", g.projection()})
	}
	return c
}

func (g *generator) remove() bson.D {
	stmt := bson.D{{"q", g.filter(2)}, {"limit", int32(0)}}
	if g.chance(2) {
		stmt = bson.D{{"q", bson.D{{"_id", g.anyID()}}}, {"limit", int32(1)}}
	}
	return bson.D{{"delete", collection}, {"deletes", bson.A{stmt}}}
}

func (g *generator) insert() bson.D {
	doc := g.document()
	if g.chance(4) {
		doc[0].Value = g.anyID() // the _id is likely a duplicate
	}
	return insertCommand(doc)
}

func insertCommand(docs ...bson.D) bson.D {
	list := make(bson.A, len(docs))
	for i, d := range docs {
		list[i] = d
	}
	return bson.D{{"insert", collection}, {"documents", list}}
}
