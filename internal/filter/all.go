package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var allFailure = &failure{
	no: "array did not contain all specified values", yes: "array did contain all specified values", whole: true,
}

// parseAll compiles $all into the conjunction of its members. An empty $all matches no document.
func parseAll(p *parser, f field) (Node, error) {
	if f.value.Type != bsonx.TypeArray {
		return nil, mongoerr.New(mongoerr.BadValue, "$all needs an array")
	}
	members := f.value.Doc().Values()
	if len(members) == 0 {
		return &AlwaysFalse{}, nil
	}
	parse := parseAllValue
	if isElemMatchDoc(members[0]) {
		parse = parseAllElemMatch
	}
	nodes := make([]Node, 0, len(members))
	for _, v := range members {
		if err := p.node(); err != nil {
			return nil, err
		}
		n, err := parse(p, f, v)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return newConjunction(nodes), nil
}

func isElemMatchDoc(v bsonx.Value) bool {
	return firstKey(v) == "$elemMatch"
}

func parseAllElemMatch(p *parser, f field, v bsonx.Value) (Node, error) {
	if !isElemMatchDoc(v) {
		return nil, mongoerr.New(mongoerr.BadValue, "$all/$elemMatch has to be consistent")
	}
	f.value = v.Doc().First().Value
	f.depth++
	return parseElemMatch(p, f)
}

func parseAllValue(p *parser, f field, v bsonx.Value) (Node, error) {
	if v.Type == bsonx.TypeRegex {
		return p.regexValue(f.path, v)
	}
	if p.reg.isCondition(firstKey(v)) {
		return nil, mongoerr.New(mongoerr.BadValue, "no $ expressions in $all")
	}
	return p.compare(f.path, Eq, v)
}

// firstKey returns the name of a document's first field, or "" for other values.
func firstKey(v bsonx.Value) string {
	if v.Type != bsonx.TypeDocument {
		return ""
	}
	return string(v.Doc().First().Key)
}
