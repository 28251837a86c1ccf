package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// pipelineGen makes documents and pipelines. Their answer does not depend on the order in which
// documents are found: a stage that depends on the order comes after a total $sort.
//
// The fields: b and c are numbers, null or missing, s are strings, d are dates, l are mostly
// arrays, o are mostly documents, a is anything. They keep these types through all stages.
type pipelineGen struct {
	*rand.Rand
	stages  []string
	key     []string // fields that identify all documents; may be nil
	ordered bool     // the order of the documents is certain
	united  bool
	n       int // number for the next new name
}

func (g *pipelineGen) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *pipelineGen) chance(n int) bool { return g.IntN(n) == 0 }

// document makes a document of a collection.
func (g *pipelineGen) document(id int, pad string) string {
	fields := []string{fmt.Sprintf(`"_id": %d`, id)}
	add := func(name string, values ...string) {
		if !g.chance(7) {
			fields = append(fields, fmt.Sprintf("%q: %s", name, g.pick(values...)))
		}
	}
	add("a", "1", "2.0", `"x"`, "null", "[]", "[1, 2]", `{"p": 1}`, "true",
		`{"$numberDecimal": "2"}`, `[{"p": 1}, {"p": 2}]`)
	add("b", "0", "1", "2", "3", "4", `{"$numberLong": "2"}`)
	add("c", "0", "-1", "1.5", "2.5", "7", "null", `{"$numberLong": "3"}`)
	add("s", `"x"`, `"y"`, `"Zz"`, `""`)
	add("d", `{"$date": "2024-01-01T00:00:00Z"}`, `{"$date": "2024-02-29T12:34:56Z"}`,
		`{"$date": "2025-12-31T23:59:59Z"}`)
	add("l", "[1, 2, 3]", "[2]", "[]", "null", "5", `["x", 1]`, "[[1], 2]", "[3, 3, 1]")
	add("o", `{"p": 1, "q": 2}`, `{"p": 2}`, `{"p": [1, 2], "q": "x"}`, "null", "{}", `{"q": {"r": 1}}`)
	if pad != "" {
		fields = append(fields, fmt.Sprintf(`"pad": %q`, pad))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// pipeline makes the stages of a pipeline.
func (g *pipelineGen) pipeline() []string {
	g.stages, g.key, g.ordered, g.united = nil, []string{"_id"}, false, false
	if g.chance(10) {
		g.oneOfEach()
	}
	for range 1 + g.IntN(6) {
		g.stage()
	}
	if g.key != nil && g.chance(3) {
		g.sort()
	}
	if g.key != nil && g.chance(12) {
		g.stages = append(g.stages, g.facet())
	}
	return g.stages
}

func (g *pipelineGen) add(format string, args ...any) {
	g.stages = append(g.stages, fmt.Sprintf(format, args...))
}

// sort adds a total $sort, unless there is one.
func (g *pipelineGen) sort() {
	if !g.ordered {
		g.add(`{"$sort": %s}`, g.total())
	}
	g.ordered = true
}

// total returns a pattern for a total order.
func (g *pipelineGen) total() string {
	var fields []string
	if name := g.pick("b", "c", "s", "d", ""); name != "" {
		fields = append(fields, fmt.Sprintf(`%q: %s`, name, g.pick("1", "-1")))
	}
	for _, name := range g.key {
		fields = append(fields, fmt.Sprintf(`%q: 1`, name))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (g *pipelineGen) name(prefix string) string {
	g.n++
	return fmt.Sprint(prefix, g.n)
}

func (g *pipelineGen) stage() {
	makers := []func(){
		g.match, g.match, g.match, g.set, g.set, g.project, g.group, g.group, g.limit, g.limit, g.unwind,
		g.lookup, g.lookup, g.graphLookup,
		g.windows, g.densify, g.fill, g.bucket, g.unionWith, g.redact, g.replaceRoot, g.reorder, g.sort,
	}
	if g.key == nil {
		makers = []func(){g.match, g.set, g.project, g.graphLookup, g.redact, g.replaceRoot, g.reorder}
	}
	makers[g.IntN(len(makers))]()
}

func (g *pipelineGen) match() { g.add(`{"$match": %s}`, g.predicate(0)) }

func (g *pipelineGen) predicate(depth int) string {
	switch n := g.IntN(12); {
	case n == 0 && depth < 2:
		return fmt.Sprintf(`{%q: [%s, %s]}`, g.pick("$and", "$or", "$nor"), g.predicate(depth+1), g.predicate(depth+1))
	case n < 3:
		return fmt.Sprintf(`{"$expr": {%q: [%s, %s]}}`, g.pick("$eq", "$gt", "$lte", "$ne"), g.number(1), g.number(1))
	case n == 3:
		return fmt.Sprintf(`{%q: {"$in": [%s, %s, null]}}`, g.pick("a", "b", "l", "o.p"),
			g.pick("1", "2", `"x"`), g.pick("3", "[]", "2.5"))
	case n == 4:
		return fmt.Sprintf(`{%q: {"$exists": %s}}`, g.pick("a", "c", "o.p", "l.0", "s"), g.pick("true", "false"))
	case n == 5:
		return fmt.Sprintf(`{"l": %s}`,
			g.pick(`{"$elemMatch": {"$gt": 1}}`, `{"$size": 2}`, `{"$all": [1, 2]}`, `{"$not": {"$gt": 2}}`))
	default:
		return fmt.Sprintf(`{%q: {%q: %s}}`, g.pick("a", "b", "c", "l", "o.p", "_id"),
			g.pick("$eq", "$ne", "$gt", "$gte", "$lt", "$lte"), g.pick("0", "1", "2", "3", "2.5", "null"))
	}
}

// number makes an expression whose value is a number or null.
func (g *pipelineGen) number(depth int) string {
	if depth > 2 {
		return g.pick(`"$b"`, `"$c"`, "1", "2.5")
	}
	one := func() string { return g.number(depth + 1) }
	switch g.IntN(12) {
	case 0, 1:
		return fmt.Sprintf(`{%q: [%s, %s]}`,
			g.pick("$add", "$multiply", "$subtract", "$max", "$min", "$avg"), one(), one())
	case 2:
		return fmt.Sprintf(`{"$cond": [%s, %s, %s]}`, g.condition(depth+1), one(), one())
	case 3:
		return fmt.Sprintf(`{"$size": %s}`, g.array(depth+1))
	case 4:
		return fmt.Sprintf(`{"$reduce": {"input": %s, "initialValue": 0, "in": {"$add": ["$$value", {"$cond": [{"$isNumber": "$$this"}, "$$this", 1]}]}}}`, g.array(depth+1))
	case 5:
		return fmt.Sprintf(`{%q: "$d"}`, g.pick("$year", "$month", "$dayOfYear", "$hour"))
	case 6:
		return fmt.Sprintf(`{"$strLenCP": {"$ifNull": ["$s", %s]}}`, g.pick(`""`, `"abc"`))
	case 7:
		return fmt.Sprintf(`{"$switch": {"branches": [{"case": %s, "then": %s}], "default": %s}}`, g.condition(depth+1), one(), one())
	case 8:
		return fmt.Sprintf(`{"$let": {"vars": {"x": %s}, "in": {"$add": ["$$x", 1]}}}`, one())
	default:
		return g.pick(`"$b"`, `"$c"`, "1", `{"$abs": "$c"}`, `{"$mod": ["$b", 3]}`, `{"$floor": "$c"}`)
	}
}

func (g *pipelineGen) condition(depth int) string {
	return g.pick(
		fmt.Sprintf(`{"$gt": [%s, %s]}`, g.number(depth+1), g.number(depth+1)), `{"$isArray": "$l"}`,
		`{"$eq": ["$a", "$b"]}`, `{"$in": [1, `+g.array(depth+1)+`]}`,
		`{"$and": ["$b", "$s"]}`, `{"$regexMatch": {"input": "$s", "regex": "^[xz]", "options": "i"}}`, `{"$not": ["$c"]}`)
}

// array makes an expression whose value is an array.
func (g *pipelineGen) array(depth int) string {
	const list = `{"$cond": [{"$isArray": "$l"}, "$l", []]}`
	if depth > 2 {
		return list
	}
	in := g.array(depth + 1)
	return g.pick(list, `{"$range": [0, 3]}`, fmt.Sprintf(`{"$filter": {"input": %s, "as": "e", "cond": {"$gt": ["$$e", 1]}}}`, in),
		fmt.Sprintf(`{"$map": {"input": %s, "in": {"$ifNull": ["$$this", 0]}}}`, in),
		fmt.Sprintf(`{"$slice": [%s, 2]}`, in), fmt.Sprintf(`{"$reverseArray": %s}`, in),
		fmt.Sprintf(`{"$concatArrays": [%s, ["$b"]]}`, in),
		fmt.Sprintf(`{"$sortArray": {"input": %s, "sortBy": 1}}`, in), fmt.Sprintf(`{"$setUnion": [%s, [1, "x"]]}`, in))
}

// anything makes an expression.
func (g *pipelineGen) anything() string {
	return g.pick(`"$a"`, `"$l"`, `"$o.p"`, `"$o"`, `"$l.p"`, `"k"`, `{"x": "$a", "y": "$b"}`, `["$a", "$s"]`,
		`"$$REMOVE"`, `{"$ifNull": ["$a", "$l", "none"]}`,
		`{"$getField": "a"}`, `{"$mergeObjects": [{"z": 1}, {"$cond": [{"$eq": [{"$type": "$o"}, "object"]}, "$o", null]}]}`, g.number(0), g.array(0), g.condition(0))
}

func (g *pipelineGen) set() {
	stage := g.pick("$set", "$addFields")
	switch g.IntN(6) {
	case 0:
		field := "b"
		if slices.Contains(g.key, field) {
			field = "c" // b identifies the documents of $densify
		}
		g.add(`{%q: {%q: %s, "a": %s}}`, stage, field, g.number(0), g.anything())
	case 1:
		g.add(`{%q: {"c": %s}}`, stage, g.number(0))
	case 2:
		g.add(`{%q: {"l": %s}}`, stage, g.array(0))
	case 3:
		g.add(`{%q: {"a": %s}}`, stage, g.pick(`"$b"`, `"$l"`, `"$o"`, `"$s"`))
	case 4:
		g.add(`{%q: {"o.p": %s}}`, stage, g.anything())
	default:
		g.add(`{%q: {"a": %s}}`, stage, g.anything())
	}
	g.ordered = false // the values by which the documents were sorted may have changed
}

func (g *pipelineGen) project() {
	keep := ""
	for _, name := range g.key {
		keep += fmt.Sprintf(`%q: 1, `, strings.TrimSuffix(name, "._id"))
	}
	switch g.IntN(4) {
	case 0:
		g.add(`{"$project": {%s"b": 1, "l": 1, %q: 1}}`, keep, g.pick("o.p", "o", "a", "s"))
	case 1:
		g.add(`{"$project": {%s"b": %s, "a": %s, "c": 1}}`, keep, g.number(0), g.anything())
	case 2:
		g.add(`{"$project": {%q: 0}}`, g.pick("a", "o.p", "l", "s", "o"))
	default:
		g.add(`{"$unset": %s}`, g.pick(`"a"`, `["o.q", "s"]`, `"l"`))
	}
	g.ordered = false
}

// accumulator makes an accumulator that does not depend on the order.
func (g *pipelineGen) accumulator() string {
	if g.chance(2) {
		return fmt.Sprintf(`{%q: %s}`, g.pick("$sum", "$avg", "$min", "$max", "$stdDevPop", "$stdDevSamp"), g.number(1))
	}
	switch g.IntN(7) {
	case 0:
		return `{"$count": {}}`
	case 1:
		return fmt.Sprintf(`{%q: {"sortBy": %s, "output": %s}}`, g.pick("$top", "$bottom"),
			g.total(), g.pick(`"$c"`, `"$b"`))
	case 2:
		return fmt.Sprintf(`{"$median": {"input": %s, "method": "approximate"}}`, g.number(1))
	default:
		return g.pick(`{"$sum": "$c"}`, `{"$max": "$b"}`, `{"$sum": 1}`)
	}
}

// list makes an accumulator that gives an array. If the array shows the order of the input, it adds
// a $sort.
func (g *pipelineGen) list() string {
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf(`{%q: {"n": 2, "sortBy": %s, "output": %s}}`, g.pick("$topN", "$bottomN"), g.total(),
			g.pick(`"$b"`, `["$c", "$s"]`))
	case 1:
		return fmt.Sprintf(`{%q: {"n": 2, "input": %s}}`, g.pick("$maxN", "$minN"), g.number(1))
	case 2:
		return `{"$percentile": {"input": "$c", "p": [0.25, 0.9], "method": "approximate"}}`
	default:
		g.ordered = false
		g.sort()
		return g.pick(`{"$push": "$c"}`, `{"$push": {"b": "$b", "s": "$s"}}`, `{"$firstN": {"n": 2, "input": "$b"}}`,
			`{"$lastN": {"n": 3, "input": "$s"}}`)
	}
}

func (g *pipelineGen) group() {
	id := g.pick(`"$b"`, `"$s"`, "null", `{"b": "$b", "s": "$s"}`, `"$o.p"`, `"$l"`, g.number(1),
		`{"y": {"$year": "$d"}}`, `"$a"`)
	if g.chance(8) {
		g.add(`{"$sortByCount": %s}`, id)
		g.grouped(id)
		return
	}
	b, c := g.accumulator(), g.accumulator()
	fields := fmt.Sprintf(`"b": %s, "c": %s`, b, c)
	switch g.IntN(6) {
	case 0, 1:
		fields += fmt.Sprintf(`, "l": %s`, g.list())
	case 2:
		g.ordered = false
		g.sort()
		fields += g.pick(`, "a": {"$first": "$a"}, "s": {"$last": "$s"}`,
			`, "a": {"$last": "$o"}`, `, "s": {"$first": "$s"}`)
	case 3:
		fields = ""
		if g.chance(2) {
			g.ordered = false
			g.sort()
			fields = g.pick(`"c": {"$first": "$c"}`, `"b": {"$last": "$b"}, "s": {"$last": "$s"}`)
		}
	}
	g.add(`{"$group": {"_id": %s%s}}`, id, strings.TrimSuffix(", "+fields, ", "))
	if strings.Contains(fields, b) {
		g.rounded("b", b)
		g.rounded("c", c)
	}
	g.grouped(id)
}

// rounded removes the last digits of a standard deviation. They depend on how the deviation was
// combined from parts on disk, and later stages would distinguish values that differ only in these
// digits.
func (g *pipelineGen) rounded(field, accumulator string) {
	if strings.Contains(accumulator, "$stdDev") {
		g.add(`{"$set": {%q: {"$round": ["$%s", 6]}}}`, field, field)
	}
}

// oneOfEach adds a $group that reads one document of each group. An index scan may skip the others.
func (g *pipelineGen) oneOfEach() {
	field, which := g.pick("b", "s", "a", "o.p"), g.pick("$first", "$last")
	if g.chance(2) {
		g.add(`{"$match": {%q: %s}}`, field, g.pick(`{"$gte": 1}`, `{"$in": [0, 2, "x", null]}`, `{"$ne": 1}`))
	}
	if g.chance(3) {
		g.add(`{"$group": {"_id": "$%s"}}`, field)
		g.grouped("$" + field)
		return
	}
	g.add(`{"$sort": {%q: %s, "_id": %[2]s}}`, field, g.pick("1", "-1"))
	g.add(`{"$group": {"_id": "$%s", "c": {%q: "$c"}, "s": {%q: "$s"}, "b": {%q: "$b"}}}`, field, which, which, which)
	g.grouped("$" + field)
}

// grouped records that after a $group the _id identifies the documents.
func (g *pipelineGen) grouped(id string) {
	g.key, g.ordered = []string{"_id"}, false
	if strings.Contains(`"$a" "$l" "$o.p"`, id) { // a, l and o.p may be arrays, and arrays sort by an element
		g.key = nil
	}
}

func (g *pipelineGen) bucket() {
	if g.chance(2) {
		b, c := g.accumulator(), g.accumulator()
		g.add(`{"$bucket": {"groupBy": %s, "boundaries": [-100, 1, 3, 100], "default": "other", "output": {"b": %s, "c": %s}}}`, g.number(1), b, c)
		g.rounded("b", b)
		g.rounded("c", c)
		g.key, g.ordered = []string{"_id"}, false
		return
	}
	g.add(`{"$bucketAuto": {"groupBy": %s, "buckets": %d, "output": {"b": {"$sum": "$b"}, "c": {"$max": "$c"}}}}`, g.pick(`"$c"`, `"$b"`, `"$_id"`), 1+g.IntN(4))
	g.key, g.ordered = []string{"_id"}, false
}

func (g *pipelineGen) limit() {
	g.sort()
	if g.chance(3) {
		g.add(`{"$skip": %d}`, g.IntN(5))
	}
	g.add(`{"$limit": %d}`, 1+g.IntN(20))
}

func (g *pipelineGen) unwind() {
	index := g.name("i")
	g.add(`{"$unwind": {"path": "$l", "includeArrayIndex": %q, "preserveNullAndEmptyArrays": %s}}`, index, g.pick("true", "false"))
	g.key = append(g.key, index)
	g.ordered = false
}

func (g *pipelineGen) lookup() {
	as := g.name("j")
	from := g.pick(`"localField": "b", "foreignField": "b"`, `"localField": "b", "foreignField": "_id"`,
		`"localField": "l", "foreignField": "c"`, `"localField": "o.p", "foreignField": "l"`)
	switch g.IntN(4) {
	case 0:
		g.add(`{"$lookup": {"from": "d", "let": {"x": "$b"}, "pipeline": [{"$match": {"$expr": {%q: ["$b", "$$x"]}}}, {"$sort": {"_id": 1}}, {"$limit": 3}, {"$project": {"b": 1, "n": "$$x"}}], "as": %q}}`,
			g.pick("$eq", "$lt"), as)
		return
	case 1:
		g.add(`{"$lookup": {"from": "d", %s, "pipeline": [{"$match": %s}, {"$sort": {"_id": -1}}], "as": %q}}`, from, g.predicate(1), as)
		return
	case 2:
		g.add(`{"$lookup": {"from": "d", %s, "as": %q}}`, from, as)
		g.add(`{"$unwind": {"path": "$%s", "preserveNullAndEmptyArrays": %s}}`, as, g.pick("true", "false"))
		if g.chance(2) {
			g.add(`{"$match": {"%s.%s": {"$gte": 1}}}`, as, g.pick("b", "c"))
		}
		g.key, g.ordered = append(g.key, as+"._id"), false
		return
	}
	g.add(`{"$lookup": {"from": "d", %s, "as": %q}}`, from, as)
	g.add(`{"$set": {%q: {"$sortArray": {"input": "$%s", "sortBy": {"_id": 1}}}}}`, as, as)
}

func (g *pipelineGen) graphLookup() {
	as := g.name("j")
	g.add(`{"$graphLookup": {"from": "d", "startWith": "$b", "connectFromField": "c", "connectToField": "b", "as": %q, "maxDepth": %d, "restrictSearchWithMatch": %s}}`, as, g.IntN(3),
		g.pick("{}", `{"s": "x"}`, `{"_id": {"$gt": 5}}`))
	g.add(`{"$set": {%q: {"$sortArray": {"input": "$%s", "sortBy": {"_id": 1}}}}}`, as, as)
}

func (g *pipelineGen) windows() {
	window := g.pick("", `, "window": {"documents": [-1, 1]}`, `, "window": {"documents": ["unbounded", "current"]}`,
		`, "window": {"documents": [1, 3]}`)
	output := fmt.Sprintf(`"c": {%q: "$c"%s}`, g.pick("$sum", "$avg", "$min", "$max"), window)
	if g.chance(2) {
		output += g.pick(fmt.Sprintf(`, "b": {"$count": {}%s}`, window), `, "b": {"$documentNumber": {}}`, `, "b": {"$shift": {"output": "$b", "by": -1, "default": 0}}`,
			fmt.Sprintf(`, "l": {"$push": "$b"%s}`, window),
			fmt.Sprintf(`, "a": {"$first": "$s"%s}`, window), `, "c2": {"$locf": "$c"}`)
	}
	g.add(`{"$setWindowFields": {"partitionBy": %s, "sortBy": %s, "output": {%s}}}`, g.pick(`"$b"`, `"$s"`, "null"), g.total(), output)
	g.ordered = false
}

func (g *pipelineGen) densify() {
	g.add(`{"$densify": {"field": "b", "range": {"step": 1, "bounds": %s}}}`, g.pick("[0, 6]", "[-2, 3]"))
	g.key, g.ordered = append(g.key, "b"), false
}

func (g *pipelineGen) fill() {
	g.add(`{"$fill": {"sortBy": %s, "output": {"c": %s, "s": {"value": "none"}}}}`, g.total(), g.pick(`{"method": "locf"}`, `{"value": 7}`, `{"value": "$b"}`))
	g.ordered = false
}

func (g *pipelineGen) unionWith() {
	if g.united {
		return
	}
	g.united, g.ordered = true, false
	g.add(`{"$unionWith": {"coll": "d", "pipeline": [{"$match": %s}, {"$set": {"_id": {"$add": ["$_id", 1000]}}}]}}`, g.predicate(1))
}

func (g *pipelineGen) redact() {
	g.add(`{"$redact": {"$cond": [{"$eq": ["$%s", %s]}, %q, "$$DESCEND"]}}`, g.pick("p", "b"), g.pick("1", "2"), g.pick("$$PRUNE", "$$KEEP"))
}

func (g *pipelineGen) replaceRoot() {
	g.stages = append(g.stages, g.pick(
		`{"$replaceRoot": {"newRoot": {"$mergeObjects": ["$$ROOT", {"a": "$b", "o": {"p": "$a"}}]}}}`,
		`{"$replaceWith": {"$mergeObjects": [{"$cond": [{"$eq": [{"$type": "$o"}, "object"]}, "$o", {}]}, "$$ROOT"]}}`,
	))
}

// reorder adds stages that change no document.
func (g *pipelineGen) reorder() {
	g.add(`{"$sample": {"size": 100000}}`)
	g.ordered = false
}

// facet returns a $facet of pipelines that each have one right answer.
func (g *pipelineGen) facet() string {
	return fmt.Sprintf(`{"$facet": {"x": [{"$match": %s}, {"$count": "n"}], "y": [{"$sort": %s}, {"$limit": 3}], "z": [{"$group": {"_id": null, "n": %s}}]}}`,
		g.predicate(1), g.total(), g.accumulator())
}
