package filter

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// nodeWork is the work of compiling one predicate, in the units of interrupt.Meter.
const nodeWork = 16 * interrupt.Step

// Estimates of memory in bytes, in addition to the filter document: for a predicate, a member of
// $in, and a regular expression.
const (
	nodeBytes   = 384
	memberBytes = 96
	regexBytes  = 1 << 10
)

// level is the position of the parser within a filter.
type level uint8

const (
	levelTop   level = iota // in the filter document itself
	levelUnder              // inside logical operators
	levelElem               // inside $elemMatch, where the document is an array element
)

func (l level) below() level {
	if l == levelTop {
		return levelUnder
	}
	return l
}

type parser struct {
	opts Options
	reg  *registry

	failures expr.Failures // errors of constant expressions in $expr
	texts    int           // the number of $text operators
	running  *interrupt.Running
	meter    interrupt.Meter
	nodes    int // the number of predicates
	held     memory.Tally
}

// node adds the work and the memory of a predicate to the totals of the operation. It fails if the
// operation was interrupted or its memory limit is exceeded.
func (p *parser) node() error {
	p.nodes++
	if err := p.hold(nodeBytes); err != nil {
		return err
	}
	return p.meter.Did(nodeWork, p.running)
}

// hold adds n bytes to the memory of the operation. The memory of a small filter is not counted.
func (p *parser) hold(n int64) error { return p.held.Add(p.running.Context(), n) }

// field is an operator under a path: { path: { $op: value } }.
type field struct {
	path    string
	name    string
	value   bsonx.Value
	context bsonx.Doc // the operator document that contains this operator
	level   level
	depth   int
}

// fieldParser compiles an operator under a path. If it returns a nil node, the operator adds no
// predicate.
type fieldParser func(p *parser, f field) (Node, error)

// topParser compiles an operator in place of a path. If it returns a nil node, the operator adds no
// predicate.
type topParser func(p *parser, name string, v bsonx.Value, level level, depth int) (Node, error)

// parseDoc compiles a document of paths and top-level operators.
func (p *parser) parseDoc(doc bsonx.Doc, level level, depth int) (Node, error) {
	if depth > limits.FilterDepth {
		return nil, errTooDeep()
	}
	var nodes []Node
	for it := doc.Iter(); it.Next(); {
		key, v := fieldName(it.Key()), it.Value()
		var err error
		nodes, err = p.parseEntry(nodes, key, v, level, depth)
		if err != nil {
			return nil, err
		}
	}
	return single(nodes), nil
}

func (p *parser) parseEntry(nodes []Node, key string, v bsonx.Value, level level, depth int) ([]Node, error) {
	if err := p.node(); err != nil {
		return nil, err
	}
	if strings.HasPrefix(key, "$") {
		def := p.reg.top[key]
		if def == nil && key == "$not" {
			return nil, mongoerr.New(mongoerr.BadValue, "unknown top level operator: $not. If you are trying to negate an entire expression, use $nor.")
		}
		if def == nil {
			return nil, mongoerr.New(mongoerr.BadValue, "unknown top level operator: %s. If you have a field name that "+
				"starts with a '$' symbol, consider using $getField or $setField.", key)
		}
		if def.parseTop == nil {
			return nil, errNotImplemented(key)
		}
		n, err := def.parseTop(p, key, v, level, depth)
		return appendNode(nodes, n, err)
	}
	if isOperatorDoc(v, false) {
		sub, err := p.parseOperators(key, v.Doc(), level, depth)
		return append(nodes, sub...), err
	}
	if v.Type == bsonx.TypeRegex {
		n, err := p.regexValue(key, v)
		return appendNode(nodes, n, err)
	}
	n, err := p.compare(key, Eq, v)
	return appendNode(nodes, n, err)
}

// appendNode appends the result of a parser to nodes, unless it is nil or an error.
func appendNode(nodes []Node, n Node, err error) ([]Node, error) {
	if err != nil || n == nil {
		return nodes, err
	}
	return append(nodes, n), nil
}

// parseOperators compiles the document of operators under a path.
func (p *parser) parseOperators(path string, doc bsonx.Doc, level level, depth int) ([]Node, error) {
	if depth > limits.FilterDepth {
		return nil, errTooDeep()
	}
	if n, err := p.nearFirst(path, doc); n != nil || err != nil {
		return []Node{n}, err
	}
	var nodes []Node
	for it := doc.Iter(); it.Next(); {
		name := string(it.Key())
		def := p.reg.field[name]
		if err := p.node(); err != nil {
			return nil, err
		}
		switch {
		case def == nil && name == "$where":
			return nil, mongoerr.New(mongoerr.BadValue, "$where cannot be applied to a field")
		case def == nil:
			return nil, mongoerr.New(mongoerr.BadValue, "unknown operator: %s", name)
		case def.nearby && !p.opts.AllowGeoNear:
			return nil, mongoerr.New(5626500, "$geoNear, $near, and $nearSphere are not allowed in this context, as these "+
				"operators require sorting geospatial data. If you do not need sort, consider using $geoWithin instead. "+
				"Check out https://dochub.mongodb.org/core/near-sort-operation and "+
				// MongoDB's text lacks this space too.
				"https://dochub.mongodb.org/core/nearSphere-sort-operationfor more details.")
		case def.parseField == nil:
			return nil, errNotImplemented(name)
		}
		n, err := def.parseField(p, field{path, name, it.Value(), doc, level, depth})
		if nodes, err = appendNode(nodes, n, err); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// isOperatorDoc reports whether a value is an operator document and not a literal: its first field
// starts with a dollar sign, and it is not a DBRef.
func isOperatorDoc(v bsonx.Value, allowIncompleteDBRef bool) bool {
	if v.Type != bsonx.TypeDocument || v.Doc().IsEmpty() {
		return false
	}
	key := v.Doc().First().Key
	return len(key) > 0 && key[0] == '$' && !isDBRef(v.Doc(), allowIncompleteDBRef)
}

// isDBRef reports whether a document is a DBRef: $ref, then $id, then optionally $db. An incomplete
// DBRef has one of these fields.
func isDBRef(doc bsonx.Doc, incomplete bool) bool {
	hasRef, hasID, hasDB := false, false, false
	for it := doc.Iter(); it.Next(); {
		switch string(it.Key()) {
		case "$ref":
			hasRef = true
		case "$id":
			hasID = true
		case "$db":
			hasDB = true
		}
	}
	if incomplete {
		return hasRef || hasID || hasDB
	}
	return hasRef && hasID
}

func errTooDeep() error {
	return mongoerr.New(mongoerr.BadValue, "exceeded maximum query tree depth of %d", limits.FilterDepth)
}

func errNotImplemented(name string) error {
	return mongoerr.New(mongoerr.NotImplemented, "%s is not implemented", name)
}
