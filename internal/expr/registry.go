package expr

import (
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Status says what happens to a use of an operator.
type Status int

// The states of an operator that MongoDB has.
const (
	Supported Status = iota // works
	Known                   // answers NotImplemented
	Absent                  // belongs to other kinds of servers, and answers as a standalone one does
)

// String returns the word that the documentation uses.
func (s Status) String() string {
	switch s {
	case Supported:
		return "supported"
	case Known:
		return "known"
	default:
		return "absent"
	}
}

// OperatorInfo describes one operator or stage for documentation and tests.
type OperatorInfo struct {
	Name   string
	Family string
	Status Status
	Note   string
}

// definition is one operator. A nil parse means that it is known and not implemented.
type definition struct {
	name     string
	family   string
	min, max int // operands; max is -1 where there is no limit
	parse    func(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error)
	note     string
	called   string // its name in MongoDB's messages, where that is another
	late     bool   // MongoDB does not evaluate it before the first document, even if its operands are constant
}

// registry is the table of all operators, built on first use.
var registry = sync.OnceValue(func() map[string]*definition {
	table := map[string]*definition{}
	for _, defs := range families() {
		for i := range defs {
			if old := table[defs[i].name]; old == nil || old.parse == nil {
				table[defs[i].name] = &defs[i]
			}
		}
	}
	return table
})

func families() [][]definition {
	return [][]definition{
		comparisonOperators(), arrayOperators(), setOperators(), accumulatorOperators(),
		booleanOperators(), conditionalOperators(), literalOperators(),
		scopeOperators(), objectOperators(), typeOperators(), arithmeticOperators(),
		trigOperators(), conversionOperators(), dateOperators(), stringOperators(), trimOperators(), miscOperators(),
		sortArrayOperators(), firstNOperators(), zipOperators(), regexOperators(), hashOperators(), percentileOperators(), functionOperators(),
	}
}

// Operators lists all operators of MongoDB 8.0 by name.
func Operators() []OperatorInfo {
	var out []OperatorInfo
	for _, def := range registry() {
		status := Supported
		if def.parse == nil {
			status = Known
		}
		out = append(out, OperatorInfo{Name: def.name, Family: def.family, Status: status, Note: def.note})
	}
	slices.SortFunc(out, func(a, b OperatorInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// IsOperator reports whether name, with its dollar, is an expression operator of MongoDB, supported or not.
func IsOperator(name string) bool {
	_, ok := registry()[name]
	return ok
}

func literalOperators() []definition {
	return []definition{
		{name: "$literal", family: "literal", parse: parseLiteral},
		{name: "$const", family: "literal", parse: parseLiteral, note: "internal alias of $literal"},
	}
}
