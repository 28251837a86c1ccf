package filter

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Explain121 returns errInfo.details for the error 121 (DocumentValidationFailure): it explains why
// doc does not match the filter, which is a validator. The details contain the failed clauses and
// the reasons. If brief is false, they also contain the specifications of the clauses and the
// values. Explain121 returns nil if the details exceed limit bytes.
func (f *Filter) Explain121(doc bsonx.Doc, brief bool, limit int) bsonx.Doc {
	p := &parser{opts: f.opts, reg: operatorTable}
	c, err := p.clauseOf(f.spec)
	if err != nil {
		return bsonx.Empty // cannot happen, because the filter was parsed before
	}
	b := &details{Builder: bsonx.NewBuilder(nil), brief: brief, limit: limit}
	b.StartDoc()
	e := &explainer{b: b, reg: p.reg, doc: doc, st: f.newState()}
	e.clause(c, false)
	b.End()
	if b.full() {
		return nil
	}
	return bsonx.Doc(b.Bytes())
}

// clause is a predicate with its specification, which nodes do not keep.
type clause struct {
	name string
	// spec is the clause as a filter document, or nil for logical operators.
	spec bsonx.Doc
	node Node
	// children contains the clauses of $and, $or, $nor and $not.
	children []clause
}

// clauseOf parses a filter document. Several predicates form an implicit $and.
func (p *parser) clauseOf(doc bsonx.Doc) (clause, error) {
	var clauses []clause
	for it := doc.Iter(); it.Next(); {
		more, err := p.clausesOfEntry(string(it.Key()), it.Value())
		if err != nil {
			return clause{}, err
		}
		clauses = append(clauses, more...)
	}
	return conjunctionClause(clauses), nil
}

func conjunctionClause(clauses []clause) clause {
	if len(clauses) == 1 {
		return clauses[0]
	}
	nodes := make([]Node, len(clauses))
	for i := range clauses {
		nodes[i] = clauses[i].node
	}
	return clause{name: "$and", node: &And{Children: nodes}, children: clauses}
}

func (p *parser) clausesOfEntry(key string, v bsonx.Value) ([]clause, error) {
	if isOperatorDoc(v, false) && p.reg.top[key] == nil {
		return p.clausesOfOperators(key, v.Doc())
	}
	spec := bsonx.NewDoc(key, v)
	node, err := p.parseDoc(spec, levelTop, 0)
	if err != nil {
		return nil, err
	}
	def := p.reg.top[key]
	switch {
	case key == "$comment":
		return nil, nil
	case def != nil && def.operand == Filters:
		c := clause{name: key, node: node}
		for it := v.Doc().Iter(); it.Next(); {
			child, err := p.clauseOf(it.Value().Doc())
			if err != nil {
				return nil, err
			}
			c.children = append(c.children, child)
		}
		return []clause{c}, nil
	}
	c := clause{name: key, spec: spec, node: node}
	switch {
	case def != nil:
	case v.Type == bsonx.TypeRegex:
		c.name = "$regex"
	default:
		c.name = "$eq"
	}
	return []clause{c}, nil
}

// clausesOfOperators parses { path: { $op: …, … } } and returns one clause per operator.
func (p *parser) clausesOfOperators(path string, doc bsonx.Doc) ([]clause, error) {
	var clauses []clause
	for it := doc.Iter(); it.Next(); {
		name := string(it.Key())
		if name == "$options" {
			continue // $options is added to the clause of $regex
		}
		operator := bsonx.NewDoc(name, it.Value())
		if name == "$regex" {
			operator = regexSpec(doc)
		}
		node, err := p.parseDoc(bsonx.NewDoc(path, operator), levelTop, 0)
		if err != nil {
			return nil, err
		}
		if name == "$regex" {
			operator = doc // MongoDB repeats all operators of the path
		}
		c := clause{name: name, spec: bsonx.NewDoc(path, operator), node: node}
		if def := p.reg.field[name]; def != nil && def.operand == Conditions {
			child, err := p.clauseOf(bsonx.NewDoc(path, it.Value()))
			if err != nil {
				return nil, err
			}
			c.spec, c.children = nil, []clause{child}
		}
		clauses = append(clauses, c)
	}
	return clauses, nil
}

func regexSpec(doc bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := doc.Iter(); it.Next(); {
		if key := string(it.Key()); key == "$regex" || key == "$options" {
			b.Value(key, it.Value())
		}
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

// explainer writes the details for one document. Its methods explain why a clause did not match or,
// with inverted true, why it matched.
type explainer struct {
	b   *details
	reg *registry
	doc bsonx.Doc
	st  *state
}

// clause appends the fields that explain a clause to the open document.
func (e *explainer) clause(c clause, inverted bool) {
	if schema, ok := c.node.(*JSONSchema); ok {
		e.schema(schema, inverted)
		return
	}
	e.b.String("operatorName", c.name)
	switch c.name {
	case "$not":
		e.b.StartDocField("details")
		e.clause(c.children[0], !inverted)
		e.b.End()
	case "$and", "$or":
		e.clauses(c.children, inverted)
	case "$nor":
		e.clauses(c.children, !inverted)
	default:
		e.b.specifiedAs(c.spec)
		e.leaf(c, inverted)
	}
}

// clauses appends those clauses that caused the result.
func (e *explainer) clauses(clauses []clause, inverted bool) {
	name := "clausesNotSatisfied"
	if inverted {
		name = "clausesSatisfied"
	}
	e.b.StartArrayField(name)
	for i, c := range clauses {
		if e.b.full() {
			break
		}
		if c.node.matchDoc(e.doc, e.st) != inverted {
			continue
		}
		e.b.StartDocElem()
		e.b.Int32("index", int32(i))
		if schema, ok := c.node.(*JSONSchema); ok {
			schema.schema.annotate(e.b)
		}
		e.b.StartDocField("details")
		e.clause(c, inverted)
		e.b.End()
		e.b.End()
	}
	e.b.End()
}

func (e *explainer) schema(n *JSONSchema, inverted bool) {
	switch {
	case n.schema.never:
		n.schema.explainNever(e.b)
	case inverted:
		e.b.String("operatorName", "$jsonSchema")
		e.b.String("reason", "schema matched")
	default:
		e.b.String("operatorName", "$jsonSchema")
		n.schema.annotate(e.b)
		n.schema.explain(e.b, "schemaRulesNotSatisfied", bsonx.Document(e.doc))
	}
}

// leaf appends the reason and the considered values.
func (e *explainer) leaf(c clause, inverted bool) {
	node := c.node
	if not, ok := node.(*Not); ok { // $ne, $nin or {$exists: false}
		node, inverted = not.Child, !inverted
	}
	switch n := node.(type) {
	case *Expr:
		e.expression(n, inverted)
		return
	case *SampleRate, *AlwaysTrue:
		e.b.String("reason", choose(inverted, "expression did match", "expression did not match"))
		e.b.Bool("expressionResult", inverted)
		return
	case *AlwaysFalse:
		e.constant(c)
		return
	case Leaf, *And, *JSONSchema, *Nor, *Not, *Or, *Text, *Where:
	}
	failure := e.reg.named(c.name).failure
	path := e.path(c)
	if failure.exists {
		e.b.String("reason", choose(inverted, "path does exist", "path does not exist"))
		return
	}
	e.considered(failure, NewPath(path), inverted)
}

// constant explains a clause that is always false: $all without members, or $sampleRate with rate
// zero, which MongoDB explains as an expression.
func (e *explainer) constant(c clause) {
	if c.name == "$sampleRate" {
		e.b.String("reason", "expression did not match")
		e.b.Bool("expressionResult", false)
		return
	}
	e.b.String("reason", reasonNever)
}

func (e *explainer) path(c clause) string { return string(c.spec.First().Key) }

func (e *explainer) expression(n *Expr, inverted bool) {
	v, err := n.eval(e.doc, e.st)
	var failure *mongoerr.Error
	if errors.As(err, &failure) {
		e.b.String("reason", "failed to evaluate aggregation expression")
		e.b.Doc("details", bsonx.NewDoc("code", int32(failure.Code), "codeName",
			failure.Code.Name(), "errmsg", failure.Message))
		return
	}
	e.b.String("reason", choose(inverted, "expression did match", "expression did not match"))
	if err == nil {
		e.b.Value("expressionResult", v)
	}
}

func choose(inverted bool, yes, no string) string {
	if inverted {
		return yes
	}
	return no
}
