package main

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
)

// conversionFailure is the error code of a failed or unsupported conversion.
const conversionFailure = 241

// probeBudget is the number of variants of a command that a prober sends at most.
const probeBudget = 1500

// questionOfView returns a find as a pipeline, if it reads another collection than the usual one.
// That collection may be a view, whose stages are then put in front of the pipeline.
func questionOfView(cmd bson.D) (bson.D, bool) {
	if cmd[0].Key != "find" || cmd[0].Value == collection {
		return nil, false
	}
	return asAggregate(cmd)
}

// dropping lists the stages that drop documents.
var dropping = []string{"$match", "$unwind", "$redact", "$limit", "$skip"}

// isFiltered explains a command that fails on one server only. It reports whether the command fails
// on both servers with the same error once one stage or predicate that drops documents is removed.
func (p *pair) isFiltered(ctx context.Context, c *asked) bool {
	code := max(mistakeOf(c.A), mistakeOf(c.B))
	question, ok := asAggregate(c.cmd)
	if !ok || min(mistakeOf(c.A), mistakeOf(c.B)) != 0 || code == 0 {
		return false
	}
	question = p.expanded(ctx, question)
	stages, _ := lookup(question, "pipeline").(bson.A)
	for _, without := range undropped(stages) {
		other := slices.Clone(question)
		other[1].Value = without
		if d, err := p.compare(ctx, other); err == nil && errorCode(d.A) == code && errorCode(d.B) == code {
			return true
		}
	}
	return false
}

// hasBothMistakes explains a command that fails with a different error on each server. It reports
// whether some variants of the command fail with server A's error on both servers, and others with
// server B's error on both.
func (p *pair) hasBothMistakes(ctx context.Context, c *asked) bool {
	a, b := mistakeOf(c.A), mistakeOf(c.B)
	question, ok := asAggregate(c.cmd)
	if !ok || a == b || a == 0 || b == 0 {
		return false
	}
	if a == conversionFailure || b == conversionFailure { // the 9.0 engine converts more values than 8.0
		words, _ := rewriteCalls(question, refuseConversion)
		question = words.(bson.D)
	}
	probe := prober{ctx: ctx, pair: p, a: a, b: b, left: probeBudget, ids: p.ids(ctx)}
	return probe.both(p.expanded(ctx, question))
}

// mistakeOf returns the error code of a reply, or the code of its first write error.
func mistakeOf(reply bson.D) int32 { return max(errorCode(reply), writeErrorCode(reply)) }

// sorting lists the stages after which a preceding $sort has no effect.
var sorting = []string{"$sort", "$count", "$setWindowFields", "$densify", "$bucketAuto", "$fill"}

// isSorted reports whether the last of the stages, apart from $skip and $limit, is a $sort.
func isSorted(stages bson.A) bool {
	for _, stage := range slices.Backward(stages) {
		switch stageName(stage) {
		case "$sort":
			return true
		case "$skip", "$limit":
		default:
			return false
		}
	}
	return false
}

// undropped returns variants of a pipeline that drop fewer documents. Each variant lacks one stage
// that drops documents, or one of the predicates that must all hold. Pipelines inside stages are
// varied too.
func undropped(stages bson.A) []bson.A {
	var out []bson.A
	for i, stage := range stages {
		name := stageName(stage)
		for _, other := range append(withoutConjunct(stage), undroppedWithin(stage)...) {
			out = append(out, slices.Replace(slices.Clone(stages), i, i+1, other))
		}
		unsorts := slices.Contains(sorting, name) && isSorted(stages[:i])
		if unsorts || slices.Contains(dropping, name) {
			out = append(out, slices.Delete(slices.Clone(stages), i, i+1))
		}
	}
	return out
}

// undroppedWithin returns variants of a stage that contains a pipeline. In each variant, that
// pipeline drops fewer documents.
func undroppedWithin(stage any) []any {
	doc, _ := stage.(bson.D)
	name := stageName(stage)
	spec, _ := lookup(doc, name).(bson.D)
	var out []any
	for i, e := range spec {
		inner, isPipeline := e.Value.(bson.A)
		if !isPipeline || name != "$facet" && e.Key != "pipeline" {
			continue
		}
		for _, variant := range undropped(inner) {
			other := slices.Clone(spec)
			other[i].Value = variant
			out = append(out, op(name, other))
		}
	}
	return out
}

// withoutConjunct returns variants of a $match that lack one of the predicates that must all hold.
func withoutConjunct(stage any) []any {
	doc, _ := stage.(bson.D)
	predicates, isMatch := lookup(doc, "$match").(bson.D)
	if !isMatch {
		return nil
	}
	var out []any
	for i, e := range predicates {
		with := func(v any) any {
			other := slices.Clone(predicates)
			other[i].Value = v
			return op("$match", other)
		}
		if len(predicates) > 1 {
			out = append(out, op("$match", slices.Delete(slices.Clone(predicates), i, i+1)))
		}
		list, isAnd := e.Value.(bson.A)
		wrap := func(list bson.A) any { return list }
		if call, _ := e.Value.(bson.D); e.Key == "$expr" {
			list, isAnd = lookup(call, "$and").(bson.A)
			wrap = func(list bson.A) any { return op("$and", list) }
		} else if e.Key != "$and" {
			isAnd = false
		}
		for j := range list {
			if isAnd && len(list) > 1 {
				out = append(out, with(wrap(slices.Delete(slices.Clone(list), j, j+1))))
			}
		}
	}
	return out
}

func stageName(stage any) string {
	doc, _ := stage.(bson.D)
	if len(doc) == 0 {
		return ""
	}
	return doc[0].Key
}

// expanded replaces a view by its collection, and puts the view's pipeline in front of the
// command's own pipeline.
func (p *pair) expanded(ctx context.Context, question bson.D) bson.D {
	for range maxViews {
		reply, err := send(ctx, p.a,
			bson.D{{"listCollections", int32(1)}, {"filter", fields("name", question[0].Value, "type", "view")}})
		if err != nil {
			break
		}
		cursor, _ := lookup(reply, "cursor").(bson.D)
		list, _ := lookup(cursor, "firstBatch").(bson.A)
		if len(list) == 0 {
			break
		}
		view, _ := list[0].(bson.D)
		options, _ := lookup(view, "options").(bson.D)
		before, _ := lookup(options, "pipeline").(bson.A)
		stages, _ := lookup(question, "pipeline").(bson.A)
		question = slices.Clone(question)
		question[0].Value, question[1].Value = lookup(options, "viewOn"), slices.Concat(before, stages)
	}
	return question
}

// maxViews is how many times expanded replaces a view that is defined on another view.
const maxViews = 5

// ids returns the _id values of the collection on server A.
func (p *pair) ids(ctx context.Context) bson.A {
	reply, err := send(ctx, p.a, bson.D{{"distinct", collection}, {"key", "_id"}})
	if err != nil {
		return nil
	}
	list, _ := lookup(reply, "values").(bson.A)
	return list
}

// asAggregate returns an aggregate command that evaluates the same expressions as another command.
// It returns false for commands that write without a pipeline.
func asAggregate(cmd bson.D) (bson.D, bool) {
	stages := bson.A{}
	switch cmd[0].Key {
	case "aggregate":
		stages, _ = lookup(cmd, "pipeline").(bson.A)
	case "find":
		stages = append(stages, op("$match", lookup(cmd, "filter")))
		if p := lookup(cmd, "projection"); p != nil {
			stages = append(stages, op("$project", p))
		}
	case "distinct", "count":
		stages = append(stages, op("$match", lookup(cmd, "query")))
	case "delete":
		stages = append(stages, op("$match", lookup(firstStatement(cmd, "deletes"), "q")))
	case "update":
		stmt := firstStatement(cmd, "updates")
		u, isPipeline := lookup(stmt, "u").(bson.A)
		if !isPipeline {
			return nil, false
		}
		stages = append(append(stages, op("$match", lookup(stmt, "q"))), u...)
	case "findAndModify":
		u, isPipeline := lookup(cmd, "update").(bson.A)
		if !isPipeline {
			return nil, false
		}
		stages = append(append(stages, op("$match", lookup(cmd, "query"))), u...)
		if p := lookup(cmd, "fields"); p != nil {
			stages = append(stages, op("$project", p))
		}
	default:
		return nil, false
	}
	out := aggregateOn(cmd[0].Value, stages)
	if let := lookup(cmd, "let"); let != nil {
		out = append(out, bson.E{"let", let})
	}
	return out, true
}

// firstStatement returns the first statement of a write, or nil if the shrinker has removed all of
// them.
func firstStatement(cmd bson.D, name string) bson.D {
	list, _ := lookup(cmd, name).(bson.A)
	if len(list) == 0 {
		return nil
	}
	stmt, _ := list[0].(bson.D)
	return stmt
}

// prober looks for two variants of a pipeline: one that fails with error a on both servers, and one
// that fails with error b on both.
type prober struct {
	ctx          context.Context
	pair         *pair
	a, b         int32
	left         int
	ids          bson.A
	seenA, seenB bool
}

// both reports whether variants of the command fail with each of the two errors. A variant with
// other errors is varied once more.
func (p *prober) both(cmd bson.D) bool {
	var changed []bson.D
	for _, v := range p.variants(cmd) {
		if p.left--; p.left < 0 {
			return false
		}
		d, err := p.pair.compare(p.ctx, v)
		if err != nil {
			return false
		}
		if p.note(d) {
			return true
		}
		if a, b := errorCode(d.A), errorCode(d.B); (a != p.a || b != p.b) && (a != 0 || b != 0) {
			changed = append(changed, v)
		}
	}
	for _, c := range changed {
		for _, v := range p.variants(c) {
			if p.left--; p.left < 0 {
				return false
			}
			d, err := p.pair.compare(p.ctx, v)
			if err != nil {
				return false
			}
			if p.note(d) {
				return true
			}
		}
	}
	return false
}

// note records the error if both servers return the same one. It reports whether both of the wanted
// errors have been found.
func (p *prober) note(d *difference) bool {
	a, b := errorCode(d.A), errorCode(d.B)
	if a == b {
		p.seenA = p.seenA || a == p.a
		p.seenB = p.seenB || a == p.b
	}
	return p.seenA && p.seenB
}

// variants returns smaller pipelines that add no error of their own. Each variant has only the
// first stages, or lacks a stage, or reads one document, or has one expression replaced by null, an
// empty array or 1. Every operator accepts one of these three values and then still evaluates its
// other operands.
func (p *prober) variants(cmd bson.D) []bson.D {
	stages, _ := lookup(cmd, "pipeline").(bson.A)
	with := func(list bson.A) bson.D {
		c := slices.Clone(cmd)
		c[1].Value = list
		return c
	}
	var out []bson.D
	for i := 1; i < len(stages); i++ {
		out = append(out, with(slices.Clone(stages[:i])), with(slices.Delete(slices.Clone(stages), i-1, i)))
	}
	for i := range stages {
		for _, v := range nulled(stages[i], true) {
			list := slices.Clone(stages)
			list[i] = v
			out = append(out, with(list))
		}
	}
	if len(stages) > 0 && isOneID(stages[0]) {
		return out
	}
	for _, id := range p.ids {
		out = append(out, with(append(bson.A{op("$match", bson.D{{"_id", id}})}, stages...)))
	}
	return out
}

// isOneID reports whether a stage is a $match that selects a single document by _id.
func isOneID(stage any) bool {
	doc, _ := stage.(bson.D)
	match, _ := lookup(doc, "$match").(bson.D)
	return len(match) == 1 && match[0].Key == "_id"
}

// nulled returns variants of a value in which one expression or constant is replaced by null, an
// empty array or 1.
func nulled(v any, isStage bool) []any {
	var out []any
	if !isStage && v != nil {
		out = append(out, nil)
		if list, isArray := v.(bson.A); !isArray || len(list) > 0 {
			out = append(out, bson.A{})
		}
		if v != any(int32(1)) {
			out = append(out, int32(1))
		}
	}
	switch v := v.(type) {
	case bson.D:
		for i := range v {
			for _, inner := range nulled(v[i].Value, isStage && strings.HasPrefix(v[i].Key, "$")) {
				c := slices.Clone(v)
				c[i].Value = inner
				out = append(out, c)
			}
		}
	case bson.A:
		for i := range v {
			for _, inner := range nulled(v[i], false) {
				c := slices.Clone(v)
				c[i] = inner
				out = append(out, c)
			}
		}
	}
	return out
}
