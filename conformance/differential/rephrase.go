package main

import (
	"context"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// rephrasing is a settlement by an equivalent command. MongoDB 8.0 answers both commands alike, and
// the 9.0 engine answers the new command like 8.0. Or fewer answers to the new command are right. A
// rephrasing does not hide other differences: the answers to the new command still show them.
type rephrasing struct {
	Name, Reason string
	// Call returns the replacement for a call of an operator, or nil to keep the call.
	Call func(name string, arg any) any
	// Stages returns the replacement for the stages of a pipeline.
	Stages func(stages bson.A) bson.A
	// Both says that both servers get the rephrased command. Otherwise only server A gets it, and
	// server B gets the original.
	Both bool
	// Near, if not nil, compares the original answers, which must be nearly equal. It defines what
	// nearly means.
	Near func(a, b any) bool
}

// rephrasingTable lists the rephrasings. They are tried one after the other, and then all together.
var rephrasingTable = []rephrasing{
	{
		Name:   "doubles as text",
		Reason: "operators on strings that are given a double take its text, which has six digits in the 9.0 engine; with {$toString: …} around the doubles it answers the same",
		Call:   spellDoubles,
	},
	{
		Name:   "conversions that 8.0 does not know",
		Reason: "the 9.0 engine converts arrays, objects and other values to text, and arrays and objects to binData; with a failing conversion, or onError, for these types it answers the same",
		Call:   refuseConversion,
	},
	{
		Name:   "regular expressions that replace",
		Reason: "the 9.0 engine takes a regular expression as the find of $replaceOne and $replaceAll, in 8.0 find is a string; with a number for a regular expression it refuses the same (51745)",
		Call:   refuseRegex,
	},
	{
		Name:   "hyperbolic sine of the smallest decimals",
		Reason: "the area hyperbolic sine of 1E-6176 is 0 in MongoDB's decimal library; with the number itself for numbers below 1E-6100 it answers the same",
		Call:   smallAsinh,
	},
	{
		Name:   "replacing nothing within a character",
		Reason: "{$replaceAll: {find: \"\"}} puts its replacement between all bytes within MongoDB, which leaves no UTF-8, and between characters within Sheaf; with the characters put together one by one it answers the same",
		Call:   betweenCharacters,
	},
	{
		Name:   "last bit of a double within a decimal",
		Reason: "the last bit of a transcendental function of a double differs, and a decimal shows all of it; with all such results rounded to 15 digits both servers answer the same",
		Call:   roundDoubles, Both: true, Near: nearDoubles,
	},
	{
		Name:   "last bit of a double within a decimal, where 15 digits are rounded differently",
		Reason: "as above, but the result is in the middle between two numbers of 15 digits; with three times all such results rounded both servers answer the same",
		Call:   roundThrice, Both: true, Near: nearDoubles,
	},
	{
		Name:   "order in which a $bucketAuto merges",
		Reason: "of documents that come in another order than that of groupBy, the 9.0 engine's $mergeObjects takes some fields of the last and some of others; with a $push, and a $mergeObjects of that, it answers the same",
		Stages: mergedLater,
	},
	{
		Name:   "fault of the engine in a $match behind a join below an array",
		Reason: "a $lookup or $graphLookup as t.v makes a document of an array t, also for a predicate about t.n, which MongoDB moves before it all the same; with a $limit of everything between the two both servers answer the same",
		Stages: joinedFirst, Both: true,
	},
	{
		Name:   "fault of the engine in a covariance after an infinity",
		Reason: "a window from which all numbers but an infinity have gone is taken as empty, so that the infinity that leaves is taken off again, and sums of doubles are rounded to whole numbers; without what is not finite both servers answer the same, and their answers differ by a half at most",
		Stages: finiteCovariances, Both: true, Near: nearHalf,
	},
	{
		Name:   "place of a field that two stages write",
		Reason: "the manual gives a field no place that one stage removes and another adds: MongoDB may add it where it was; with documents put together again after each stage both servers answer the same",
		Stages: rebuilding, Both: true,
	},
	{
		Name:   "place of a field that $unsetField removes and $setField adds",
		Reason: "as above, within one expression; with the document of each $unsetField put together again both servers answer the same",
		Call:   rebuildUnset, Both: true,
	},
	{
		Name:   "order that a stage leaves open",
		Reason: "groups, sets, what a $graphLookup found, and documents with equal sort keys come in any order (MongoDB's sort of more than 16 is not stable); with one order fixed behind each such stage both servers answer the same",
		Stages: settled, Both: true,
	},
}

// rephrasings returns a settlement for each rephrasing, and one that applies all of them.
func rephrasings() []settlement {
	var out []settlement
	for _, r := range rephrasingTable {
		out = append(out, settlement{
			Name: r.Name, Reason: r.Reason,
			Holds: func(p *pair, ctx context.Context, c *asked) bool { return p.rephrased(ctx, r, c) },
		})
	}
	return append(out, settlement{
		Name:   "several of these together",
		Reason: "with all of the rephrasings above in one command both servers answer the same",
		Holds:  (*pair).rephrasedByAll,
	}, settlement{
		Name:   "order in which documents are written to one place",
		Reason: "of documents that go to one place the last one counts; with one order fixed before the $merge both servers write the same",
		Holds:  (*pair).settlesOutput,
	})
}

// rephrased reports whether the servers agree if a command is rephrased.
func (p *pair) rephrased(ctx context.Context, r rephrasing, c *asked) bool {
	question, ok := reading(c.cmd)
	if !ok || isWrite(c.cmd) && p.rewind(ctx) != nil {
		return false
	}
	question = p.expanded(ctx, question)
	words, changed := r.words(question)
	if !changed || r.Near != nil && !equalReplyBy(c.A, c.B, r.Near) {
		return false
	}
	other := question
	if r.Both {
		other = words
	}
	return p.agree(ctx, words, other, r.Both, r.Near != nil)
}

// rephrasedByAll reports whether the servers agree if all rephrasings are applied. It returns false
// if fewer than two of them change the command.
func (p *pair) rephrasedByAll(ctx context.Context, c *asked) bool {
	question, ok := reading(c.cmd)
	if !ok || isWrite(c.cmd) && p.rewind(ctx) != nil {
		return false
	}
	question = p.expanded(ctx, question)
	allA, allB, count := question, question, 0
	for _, r := range rephrasingTable {
		if _, changed := r.words(question); !changed {
			continue
		}
		count++
		allA, _ = r.words(allA)
		if r.Both {
			allB, _ = r.words(allB)
		}
	}
	return count > 1 && p.agree(ctx, allA, allB, true, true)
}

// words returns the rephrased command, and reports whether it differs from the original.
func (r *rephrasing) words(question bson.D) (bson.D, bool) {
	if r.Call != nil {
		words, changed := rewriteCalls(question, r.Call)
		return words.(bson.D), changed
	}
	stages, _ := lookup(question, "pipeline").(bson.A)
	other := r.Stages(stages)
	words := slices.Clone(question)
	if len(stages) > 0 {
		words[1].Value = other
	}
	return words, show(words) != show(question)
}

// reading returns a command that only reads: it evaluates the same query and expressions as cmd,
// but does not write.
func reading(cmd bson.D) (bson.D, bool) {
	switch cmd[0].Key {
	case "find", "count", "distinct":
		return cmd, true
	}
	question, ok := asAggregate(cmd)
	if stages, _ := lookup(question, "pipeline").(bson.A); len(stages) > 0 && isOutput(stages[len(stages)-1]) {
		question = slices.Clone(question)
		question[1].Value = stages[:len(stages)-1]
	}
	return question, ok
}

// agree sends command a to server A and command b to server B, and reports whether the answers
// agree. With answered, both commands must succeed, because both could fail as a result of the
// rephrasing. With roughly, the last digits of decimals may differ.
func (p *pair) agree(ctx context.Context, a, b bson.D, answered, roughly bool) bool {
	var d difference
	var err error
	if d.A, _, err = p.ask(ctx, p.a, a); err != nil {
		return false
	}
	if d.B, _, err = p.ask(ctx, p.b, b); err != nil {
		return false
	}
	if answered && !isOK(d.A) {
		return false
	}
	return d.equal(isOrdered(a, &d)) || roughly && equalReplyBy(d.A, d.B, nearlyEqual(0))
}

// equalReplyBy compares two replies with the given comparison of values. The order of rows does not
// matter.
func equalReplyBy(a, b bson.D, equal func(a, b any) bool) bool {
	return slices.EqualFunc(a, b, func(x, y bson.E) bool {
		if x.Key == "rows" || x.Key == "values" {
			return x.Key == y.Key && equalMultiset(x.Value, y.Value, equal)
		}
		return x.Key == y.Key && equal(x.Value, y.Value)
	})
}

// rewriteCalls replaces calls of operators in a value, inner calls first. It reports whether it
// replaced a call.
func rewriteCalls(v any, call func(name string, arg any) any) (any, bool) {
	switch v := v.(type) {
	case bson.D:
		if len(v) == 1 && v[0].Key == "$literal" {
			return v, false
		}
		out, changed := make(bson.D, len(v)), false
		for i, e := range v {
			inner, within := rewriteCalls(e.Value, call)
			out[i], changed = bson.E{e.Key, inner}, changed || within
		}
		if len(out) == 1 {
			if made := call(out[0].Key, out[0].Value); made != nil {
				return made, true
			}
		}
		return out, changed
	case bson.A:
		out, changed := make(bson.A, len(v)), false
		for i, e := range v {
			inner, within := rewriteCalls(e, call)
			out[i], changed = inner, changed || within
		}
		return out, changed
	}
	return v, false
}

// typeIn returns an expression that tests whether a value has one of the types.
func typeIn(v any, types ...any) bson.D {
	if list, isList := v.(bson.A); isList { // the operator would take an array as its list of operands
		v = bson.A{list}
	}
	return op("$in", bson.A{op("$type", v), bson.A(types)})
}

func cond(condition, then, otherwise any) bson.D {
	return op("$cond", bson.A{condition, then, otherwise})
}

// spellDoubles wraps doubles in $toString in calls of operators that convert any value to a string.
func spellDoubles(name string, arg any) any {
	switch name {
	case "$toUpper", "$toLower", "$substr", "$substrBytes", "$substrCP", "$strcasecmp":
	default:
		return nil
	}
	spelled := func(v any) any { return cond(typeIn(v, "double"), op("$toString", v), v) }
	list, isList := arg.(bson.A)
	if !isList {
		return op(name, spelled(arg))
	}
	out := slices.Clone(list)
	for i := range out {
		if i == 0 || name == "$strcasecmp" {
			out[i] = spelled(out[i])
		}
	}
	return op(name, out)
}

// rebuilding adds a stage between each two stages. The added stage builds the documents anew from
// their fields.
func rebuilding(stages bson.A) bson.A {
	var out bson.A
	for i, stage := range stages {
		if i > 0 {
			out = append(out, op("$replaceWith", rebuilt("$$ROOT", 3)))
		}
		out = append(out, stage)
	}
	return out
}

// rebuilt returns an expression that builds a value anew: the documents in it, up to a depth, are
// made from their fields.
func rebuilt(v string, depth int) any {
	if depth == 0 {
		return v
	}
	name := "r" + strconv.Itoa(depth)
	field := bson.D{{"k", "$$" + name + ".k"}, {"v", rebuilt("$$"+name+".v", depth-1)}}
	object := op("$arrayToObject", op("$map", fields("input", op("$objectToArray", v), "as", name, "in", field)))
	array := op("$map", fields("input", v, "as", name, "in", rebuilt("$$"+name, depth-1)))
	return cond(typeIn(v, "object"), object, cond(typeIn(v, "array"), array, v))
}

func smallAsinh(name string, arg any) any {
	if name != "$asinh" {
		return nil
	}
	if list, isList := arg.(bson.A); isList && len(list) == 1 {
		arg = list[0]
	}
	isSmall := op("$and", bson.A{typeIn(arg, "decimal"), op("$lt", bson.A{op("$abs", arg), decimal("1E-6100")})})
	return cond(isSmall, arg, op(name, bson.A{arg}))
}

func roundDoubles(name string, arg any) any {
	if !slices.Contains(transcendental, name) || strings.HasPrefix(name, "$stdDev") { // these are accumulators
		return nil
	}
	rounded := cond(typeIn("$$result", "double"), op("$toDouble", op("$toDecimal", "$$result")), "$$result")
	return op("$let", fields("vars", bson.D{{"result", op(name, arg)}}, "in", rounded))
}

// roundThrice is like roundDoubles, but rounds the result times three.
func roundThrice(name string, arg any) any {
	if !slices.Contains(transcendental, name) || strings.HasPrefix(name, "$stdDev") {
		return nil
	}
	three := op("$multiply", bson.A{"$$result", int32(3)})
	rounded := cond(typeIn("$$result", "double"), op("$toDouble", op("$toDecimal", three)), "$$result")
	return op("$let", fields("vars", bson.D{{"result", op(name, arg)}}, "in", rounded))
}

// rebuildUnset makes an array of the fields of each $unsetField, and a document of this array.
func rebuildUnset(name string, arg any) any {
	if name != "$unsetField" {
		return nil
	}
	return op("$arrayToObject", op("$objectToArray", op(name, arg)))
}

// nearDoubles is like equalValue, but decimals, and numbers in strings, may differ in the last bits
// of a double.
func nearDoubles(a, b any) bool {
	switch x := a.(type) {
	case bson.D:
		y, ok := b.(bson.D)
		return ok && slices.EqualFunc(x, y,
			func(p, q bson.E) bool { return p.Key == q.Key && nearDoubles(p.Value, q.Value) })
	case bson.A:
		y, ok := b.(bson.A)
		return ok && slices.EqualFunc(x, y, nearDoubles)
	case primitive.Decimal128:
		y, ok := b.(primitive.Decimal128)
		return ok && nearRats(x, y)
	case string:
		y, _ := b.(string)
		f, errA := strconv.ParseFloat(x, 64)
		g, errB := strconv.ParseFloat(y, 64)
		return x == y || errA == nil && errB == nil && math.Abs(f-g) <= math.Abs(f)*math.Ldexp(1, -48)
	}
	return equalValue(a, b)
}

func nearRats(x, y primitive.Decimal128) bool {
	p, pok := numberRat(x)
	q, qok := numberRat(y)
	if !pok || !qok {
		return x.String() == y.String()
	}
	gap := new(big.Rat).Sub(p, q)
	limit := new(big.Rat).Mul(p.Abs(p), new(big.Rat).SetFloat64(math.Ldexp(1, -40)))
	return gap.Abs(gap).Cmp(limit) <= 0
}

// mergedLater replaces $mergeObjects in $bucketAuto by $push, and merges the pushed documents in a
// stage after it.
func mergedLater(stages bson.A) bson.A {
	var out bson.A
	for _, stage := range stages {
		doc, _ := stage.(bson.D)
		spec, _ := lookup(doc, "$bucketAuto").(bson.D)
		output, _ := lookup(spec, "output").(bson.D)
		pushed, merged := slices.Clone(output), bson.D{}
		for i, e := range output {
			acc, _ := e.Value.(bson.D)
			if v := lookup(acc, "$mergeObjects"); v != nil {
				pushed[i].Value = op("$push", v)
				merged = append(merged, bson.E{e.Key, op("$mergeObjects", "$"+e.Key)})
			}
		}
		if len(merged) == 0 {
			out = append(out, stage)
			continue
		}
		other := slices.Clone(spec)
		for i := range other {
			if other[i].Key == "output" {
				other[i].Value = pushed
			}
		}
		out = append(out, op("$bucketAuto", other), op("$set", merged))
	}
	return out
}

func betweenCharacters(name string, arg any) any {
	spec, _ := arg.(bson.D)
	input, find, replacement := lookup(spec, "input"), lookup(spec, "find"), lookup(spec, "replacement")
	if name != "$replaceAll" || input == nil || replacement == nil {
		return nil
	}
	each := fields("input", op("$range", bson.A{int32(0), op("$strLenCP", input)}), "initialValue", "",
		"in", op("$concat", bson.A{"$$value", op("$substrCP", bson.A{input, "$$this", int32(1)}), replacement}))
	isEmpty := op("$and", bson.A{op("$eq", bson.A{find, ""}), typeIn(input, "string"), typeIn(replacement, "string")})
	return cond(isEmpty, op("$concat", bson.A{replacement, op("$reduce", each)}), op(name, arg))
}

// finiteCovariances removes pairs that contain an infinity or NaN from the input of covariances.
func finiteCovariances(stages bson.A) bson.A {
	out := slices.Clone(stages)
	for i, stage := range stages {
		doc, _ := stage.(bson.D)
		spec, _ := lookup(doc, "$setWindowFields").(bson.D)
		other := slices.Clone(spec)
		for j, e := range spec {
			if output, isDoc := e.Value.(bson.D); e.Key == "output" && isDoc {
				other[j].Value = finitePairs(output)
			}
		}
		if spec != nil {
			out[i] = op("$setWindowFields", other)
		}
	}
	return out
}

func finitePairs(output bson.D) bson.D {
	out := slices.Clone(output)
	for i, e := range output {
		function, _ := e.Value.(bson.D)
		other := slices.Clone(function)
		for j, f := range function {
			pair, _ := f.Value.(bson.A)
			if f.Key != "$covariancePop" && f.Key != "$covarianceSamp" || len(pair) != 2 {
				continue
			}
			finite := bson.A{}
			for _, v := range pair {
				finite = append(finite,
					cond(op("$in", bson.A{v, bson.A{math.NaN(), math.Inf(1), math.Inf(-1)}}), nil, v))
			}
			other[j].Value, out[i].Value = finite, other
		}
	}
	return out
}

// nearHalf is like equalValue, but numbers may differ by up to one half.
func nearHalf(a, b any) bool {
	switch x := a.(type) {
	case bson.D:
		y, ok := b.(bson.D)
		return ok && slices.EqualFunc(x, y,
			func(p, q bson.E) bool { return p.Key == q.Key && nearHalf(p.Value, q.Value) })
	case bson.A:
		y, ok := b.(bson.A)
		return ok && slices.EqualFunc(x, y, nearHalf)
	}
	if equalValue(a, b) {
		return true
	}
	p, q := finiteRat(a), finiteRat(b)
	return p != nil && q != nil && p.Sub(p, q).Abs(p).Cmp(big.NewRat(1, 2)) <= 0
}

// finiteRat returns the value of a finite double or decimal, or nil.
func finiteRat(v any) *big.Rat {
	switch v := v.(type) {
	case float64:
		return new(big.Rat).SetFloat64(v)
	case primitive.Decimal128:
		if r, ok := numberRat(v); ok {
			return r
		}
	}
	return nil
}

// joinedFirst puts a $limit between a join whose result is a nested field and a following $match.
// The engine then cannot move the $match in front of the join.
func joinedFirst(stages bson.A) bson.A {
	var out bson.A
	nested := false
	for _, stage := range stages {
		doc, _ := stage.(bson.D)
		name := stageName(stage)
		if name == "$match" && nested {
			out = append(out, op("$limit", int64(1)<<40))
		}
		spec, _ := lookup(doc, name).(bson.D)
		as, _ := lookup(spec, "as").(string)
		nested = nested || (name == "$lookup" || name == "$graphLookup") && strings.Contains(as, ".")
		out = append(out, stage)
	}
	return out
}
