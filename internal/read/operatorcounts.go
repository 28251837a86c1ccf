package read

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/window"
)

// nameCounts counts by name. All names are known from the start, so counting needs no lock.
type nameCounts map[string]*atomic.Int64

func (c nameCounts) add(name string) bool {
	n, ok := c[name]
	if ok {
		n.Add(1)
	}
	return ok
}

func (c nameCounts) append(b *bsonx.Builder, field string) {
	b.StartDocField(field)
	for _, name := range slices.Sorted(maps.Keys(c)) {
		b.Int64(name, c[name].Load())
	}
	b.End()
}

// OperatorCounts counts the operators and stages in commands. serverStatus shows them as
// metrics.operatorCounters and metrics.aggStageCounters.
type OperatorCounts struct {
	expressions, groups, windows, match, stages nameCounts
	equal                                       *atomic.Int64 // the counter of $eq in match
}

func (c *OperatorCounts) init() {
	c.expressions = namesOf(expressions.Table().List())
	c.groups = namesOf(accumulator.List())
	c.windows = namesOf(window.Functions())
	c.stages = namesOf(pipeline.Stages())
	c.match = nameCounts{}
	for _, o := range filter.Operators() {
		if o.Status == feature.Supported && !bsonx.IsReferenceField(o.Name) {
			c.match[o.Name] = new(atomic.Int64)
		}
	}
	c.equal = c.match["$eq"]
}

func namesOf(operators []feature.Info) nameCounts {
	c := nameCounts{}
	for _, o := range operators {
		if o.Status == feature.Supported {
			c[o.Name] = new(atomic.Int64)
		}
	}
	return c
}

// filter counts the operators of a query that was accepted.
func (c *OperatorCounts) filter(query bsonx.Doc) {
	for it := query.Iter(); it.Next(); {
		key, v := it.Key(), it.Value()
		if len(key) > 0 && key[0] == '$' {
			c.predicate(string(key), v)
			continue
		}
		switch v.Type {
		case bsonx.TypeDocument:
			c.operand(v.Doc())
		case bsonx.TypeRegex:
			c.match.add("$regex")
		default:
			c.equal.Add(1)
		}
	}
}

// isPoint reports whether a query only asks for one _id.
func isPoint(query bsonx.Doc) bool {
	first := query.First()
	if string(first.Key) != "_id" || query.Len() > 1 || first.Value.Type == bsonx.TypeRegex {
		return false
	}
	if first.Value.Type != bsonx.TypeDocument {
		return true
	}
	key := first.Value.Doc().First().Key
	return len(key) == 0 || key[0] != '$'
}

// operand counts the operators that a path is compared by. A plain value counts as $eq.
func (c *OperatorCounts) operand(doc bsonx.Doc) {
	if first := string(doc.First().Key); first == "" || first[0] != '$' || bsonx.IsReferenceField(first) {
		c.equal.Add(1)
		return
	}
	for it := doc.Iter(); it.Next(); {
		c.predicate(string(it.Key()), it.Value())
	}
}

// predicate counts an operator of a query and the operators in its operand.
func (c *OperatorCounts) predicate(name string, v bsonx.Value) {
	c.match.add(name)
	switch filter.OperandOf(name) {
	case filter.Values:
	case filter.Filters:
		for _, e := range v.Doc().Values() {
			c.filter(e.Doc())
		}
	case filter.Expression:
		c.expression(v)
	case filter.Conditions:
		switch v.Type {
		case bsonx.TypeDocument:
			c.operand(v.Doc())
		case bsonx.TypeRegex:
			c.match.add("$regex")
		default: // other types were refused before
		}
	case filter.ElementFilter:
		if doc := v.Doc(); v.Type == bsonx.TypeDocument && len(doc.First().Key) > 0 && doc.First().Key[0] == '$' {
			c.operand(doc)
		} else if v.Type == bsonx.TypeDocument {
			c.filter(doc)
		}
	}
}

// expression counts the operators of an expression, or of a document of expressions.
func (c *OperatorCounts) expression(v bsonx.Value) {
	if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return
	}
	for it := v.Doc().Iter(); it.Next(); {
		if key := it.Key(); v.Type == bsonx.TypeDocument && len(key) > 0 && key[0] == '$' {
			name := string(key)
			c.expressions.add(name)
			if name == "$literal" || name == "$const" {
				continue
			}
		}
		c.expression(it.Value())
	}
}

// Pipeline counts the stages of a pipeline that was accepted, including operators and sub-pipelines
// in their arguments.
func (c *OperatorCounts) Pipeline(stages bsonx.Value) {
	c.stagesOf(stages.Doc().Values())
}

func (c *OperatorCounts) stagesOf(stages []bsonx.Value) {
	for _, v := range stages {
		first := v.Doc().First()
		if def := pipeline.Find(string(first.Key)); def != nil {
			c.stages.add(def.Name)
			def.Inside(first.Value, countInside{counts: c})
		}
	}
}

// countInside counts the operators and stages in the arguments of stages.
type countInside struct {
	parsing.Ignoring
	counts *OperatorCounts
}

// Pipeline implements parsing.Walker.
func (w countInside) Pipeline(stages bsonx.Value) { w.counts.Pipeline(stages) }

// Update implements parsing.Walker.
func (w countInside) Update(stages bsonx.Value) {
	if stages.Type == bsonx.TypeArray {
		w.counts.Pipeline(stages)
	}
}

// Filter implements parsing.Walker.
func (w countInside) Filter(query bsonx.Value) { w.counts.filter(query.Doc()) }

// Expression implements parsing.Walker.
func (w countInside) Expression(v bsonx.Value) { w.counts.expression(v) }

// Accumulators implements parsing.Walker.
func (w countInside) Accumulators(fields bsonx.Value) { w.counts.fields(fields.Doc(), w.counts.groups) }

// Windows implements parsing.Walker.
func (w countInside) Windows(fields bsonx.Value) { w.counts.fields(fields.Doc(), w.counts.windows) }

// fields counts the accumulators in a document such as the argument of $group, in which an
// accumulator computes each field.
func (c *OperatorCounts) fields(doc bsonx.Doc, accumulators nameCounts) {
	for it := doc.Iter(); it.Next(); {
		v := it.Value()
		if v.Type != bsonx.TypeDocument {
			continue
		}
		first := v.Doc().First()
		if string(it.Key()) == "_id" || !accumulators.add(string(first.Key)) {
			c.expression(v)
			continue
		}
		c.expression(first.Value)
	}
}

// Status appends the counters to the metrics of serverStatus.
func (c *OperatorCounts) Status(b *bsonx.Builder) {
	c.stages.append(b, "aggStageCounters")
	b.StartDocField("operatorCounters")
	c.expressions.append(b, "expressions")
	c.groups.append(b, "groupAccumulators")
	c.match.append(b, "match")
	c.windows.append(b, "windowAccumulators")
	b.End()
}
