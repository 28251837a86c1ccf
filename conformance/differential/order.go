package main

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// unordering lists the stages after which MongoDB does not define the order of the documents, or of
// documents with equal keys.
var unordering = []string{"$group", "$sortByCount", "$sort", "$densify", "$setWindowFields", "$fill", "$bucketAuto"}

// fixedOrder holds stages that sort their input by the whole document.
var fixedOrder = bson.A{
	op("$group", bson.D{{"_id", nil}, {"all", op("$push", "$$ROOT")}}),
	op("$project", bson.D{{"all", sortedArray("$all")}}),
	op("$unwind", "$all"),
	op("$replaceRoot", bson.D{{"newRoot", "$all"}}),
}

func sortedArray(v any) bson.D { return op("$sortArray", fields("input", v, "sortBy", int32(1))) }

// settled adds fixedOrder after every stage that leaves the order open.
func settled(stages bson.A) bson.A {
	var out bson.A
	for i, stage := range stages {
		out = append(out, settledWithin(stage))
		if fields := arraysOf(stage); len(fields) > 0 {
			out = append(out, op("$set", fields))
		}
		if slices.Contains(unordering, stageName(stage)) && i < len(stages)-1 {
			out = append(out, fixedOrder...)
		}
	}
	return out
}

// settlesOutput reports whether a $merge or $out leaves the same collection on both servers if its
// input has a fixed order. If several documents are written to the same place, the last one wins.
func (p *pair) settlesOutput(ctx context.Context, c *asked) bool {
	if !c.After || c.cmd[0].Key != "aggregate" || p.rewind(ctx) != nil {
		return false
	}
	words, changed := settledOutput(p.expanded(ctx, c.cmd))
	if !changed {
		return false
	}
	if d, err := p.compare(ctx, words); err != nil || !isOK(d.A) || !isOK(d.B) {
		return false
	}
	d, err := p.compare(ctx, bson.D{{"find", otherCollection}})
	return err == nil && d.equal(false)
}

// settledOutput fixes the order before the last stage of a command that writes. It reports whether
// that changed the command.
func settledOutput(cmd bson.D) (bson.D, bool) {
	stages, _ := lookup(cmd, "pipeline").(bson.A)
	if len(stages) == 0 || !isOutput(stages[len(stages)-1]) {
		return cmd, false
	}
	words := slices.Clone(cmd)
	words[1].Value = settled(stages)
	return words, show(words) != show(cmd)
}

// settledWithin fixes the order in the pipelines inside a stage. If the results of such a pipeline
// become an array, it also fixes the order of the array. It adds _id to the sort of windows. Both
// servers then reject a window over a range of values, but a rejection does not count as an equal
// answer.
func settledWithin(stage any) any {
	doc, _ := stage.(bson.D)
	name := stageName(stage)
	spec, _ := lookup(doc, name).(bson.D)
	out := slices.Clone(spec)
	for i, e := range spec {
		inner, isPipeline := e.Value.(bson.A)
		switch by, _ := e.Value.(bson.D); {
		case e.Key == "sortBy" && (name == "$setWindowFields" || name == "$fill") && !hasField(by, "_id"):
			out[i].Value = append(slices.Clone(by), bson.E{"_id", int32(1)})
		case !isPipeline:
		case name == "$facet":
			out[i].Value = slices.Concat(settled(inner), fixedOrder)
		case e.Key == "pipeline" && name == "$lookup":
			out[i].Value = slices.Concat(settled(inner), fixedOrder)
		case e.Key == "pipeline" && name == "$unionWith":
			out[i].Value = settled(inner)
		}
	}
	if spec == nil {
		return stage
	}
	return op(name, out)
}

// arraysOf returns assignments that sort the arrays that a stage creates without a defined order.
func arraysOf(stage any) bson.D {
	doc, _ := stage.(bson.D)
	name := stageName(stage)
	spec, _ := lookup(doc, name).(bson.D)
	switch name {
	case "$graphLookup":
		as, _ := lookup(spec, "as").(string)
		return bson.D{{as, sortedArray("$" + as)}}
	case "$bucketAuto", "$setWindowFields", "$bucket":
		spec, _ = lookup(spec, "output").(bson.D)
	case "$group":
	default:
		return nil
	}
	var out bson.D
	for _, e := range spec {
		if acc, _ := e.Value.(bson.D); hasField(acc, "$addToSet") {
			out = append(out, bson.E{e.Key, sortedArray("$" + e.Key)})
		}
	}
	return out
}

// hasTiedNumbers reports whether the replies differ only in the types of the numbers that a
// $densify created, because its input has equal numbers of different types.
func (p *pair) hasTiedNumbers(ctx context.Context, c *asked) bool {
	question, ok := reading(c.cmd)
	if !ok || isWrite(c.cmd) {
		return false
	}
	question = p.expanded(ctx, question)
	stages, _ := lookup(question, "pipeline").(bson.A)
	i := slices.IndexFunc(stages, func(s any) bool { return stageName(s) == "$densify" })
	if i < 0 || !equalMultiset(lookup(c.A, "rows"), lookup(c.B, "rows"), sameMade) {
		return false
	}
	spec, _ := lookup(stages[i].(bson.D), "$densify").(bson.D)
	names, _ := lookup(spec, "partitionByFields").(bson.A)
	for _, name := range append(slices.Clone(names), lookup(spec, "field")) {
		field, _ := name.(string)
		ties := slices.Clone(question)
		ties[1].Value = slices.Concat(stages[:i], bson.A{
			op("$group", bson.D{{"_id", "$" + field}, {"types", op("$addToSet", op("$type", "$"+field))}}),
			op("$match", bson.D{{"types.1", op("$exists", true)}}),
		})
		reply, _, err := p.ask(ctx, p.b, ties)
		if rows, _ := lookup(reply, "rows").(bson.A); err == nil && len(rows) > 0 {
			return true
		}
	}
	return false
}

// sameMade is like equalValue, but accepts equal numbers of different types in documents without
// _id. Such documents were created by $densify.
func sameMade(a, b any) bool {
	x, xok := a.(bson.D)
	if xok && !hasField(x, "_id") {
		return sameValue(a, b)
	}
	return equalValue(a, b)
}

// isSparse reports whether a command compares with MinKey or MaxKey, and the servers agree if
// sparse indexes are not created.
func (p *pair) isSparse(ctx context.Context, c *asked) bool {
	sparse := func(c bson.D) bool {
		return c[0].Key == "createIndexes" &&
			mentions(c, "", func(_, key string, value any) bool { return key == "sparse" && value == true })
	}
	compares := mentions(c.cmd, "",
		func(_, _ string, value any) bool { return value == primitive.MinKey{} || value == primitive.MaxKey{} })
	return compares && isOK(c.A) && isOK(c.B) && c.cmd[0].Key != "createIndexes" && p.agreeWithout(ctx, c.cmd, sparse)
}

// isByPosition reports whether a command is a distinct of an array position, such as a.1, and the
// servers agree if indexes on this path are not created.
func (p *pair) isByPosition(ctx context.Context, c *asked) bool {
	key, _ := lookup(c.cmd, "key").(string)
	return c.cmd[0].Key == "distinct" && isOK(c.A) && isOK(c.B) && arrayPosition.MatchString(key) &&
		p.agreeWithout(ctx, c.cmd, indexes(key))
}

// indexes returns a function that recognises commands that create an index on a path.
func indexes(path string) func(c bson.D) bool {
	return func(c bson.D) bool {
		return c[0].Key == "createIndexes" && mentions(c, "", func(_, key string, value any) bool {
			pattern, _ := value.(bson.D)
			return key == "key" && hasField(pattern, path)
		})
	}
}

// agreeWithout reports whether both servers answer a command alike if some of the preceding
// commands are left out. left selects the commands to leave out. The others are replayed.
func (p *pair) agreeWithout(ctx context.Context, cmd bson.D, left func(c bson.D) bool) bool {
	if !slices.ContainsFunc(p.past, left) {
		return false
	}
	p.past = slices.DeleteFunc(slices.Clone(p.past), left)
	if p.rewind(ctx) != nil {
		return false
	}
	d, err := p.compare(ctx, cmd)
	return err == nil && d.equal(isOrdered(cmd, d))
}
