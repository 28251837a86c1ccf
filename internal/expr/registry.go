package expr

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/feature"
)

// Table contains the operators that expressions may use. It is immutable.
type Table struct {
	byName map[string]*Definition
	scope  *Vars

	unrepeatable []string // names of operators that are not repeatable
}

// NewTable returns a table of the operators of several families. It panics if two operators have
// the same name.
func NewTable(families ...[]Definition) *Table {
	t := &Table{byName: map[string]*Definition{}}
	t.scope = &Vars{slot: constSlot, operators: t}
	for _, defs := range families {
		for i := range defs {
			if t.byName[defs[i].Name] != nil {
				panic("expr: " + defs[i].Name + " is defined twice")
			}
			t.byName[defs[i].Name] = &defs[i]
			if !defs[i].Depends.Repeatable() {
				t.unrepeatable = append(t.unrepeatable, defs[i].Name)
			}
		}
	}
	return t
}

// Scope returns the outermost scope, with these operators and the system variables. It returns nil
// for a nil Table.
func (t *Table) Scope() *Vars {
	if t == nil {
		return nil
	}
	return t.scope
}

// Has reports whether name, which includes the dollar sign, is an operator, even if it is not
// implemented.
func (t *Table) Has(name string) bool { return t.find(name) != nil }

// Depends returns the Dependence of an operator, or 0 if name is not an operator.
func (t *Table) Depends(name []byte) Dependence {
	if t == nil {
		return 0
	}
	if def := t.byName[string(name)]; def != nil {
		return def.Depends
	}
	return 0
}

// Unrepeatable returns the names of the operators whose result may differ when they run again.
func (t *Table) Unrepeatable() []string {
	if t == nil {
		return nil
	}
	return t.unrepeatable
}

// find returns the definition of an operator, or nil if the name is unknown. It panics for a nil
// Table.
func (t *Table) find(name string) *Definition {
	if t == nil {
		panic("expr: " + name + " in a scope that was made without operators")
	}
	return t.byName[name]
}

// List returns the operators, sorted by name, with their status.
func (t *Table) List() []feature.Info {
	var out []feature.Info
	for _, def := range t.byName {
		status := feature.Supported
		if def.Parse == nil {
			status = feature.Known
		}
		out = append(out, feature.Info{Name: def.Name, Family: def.Family, Status: status, Note: def.Note})
	}
	slices.SortFunc(out, func(a, b feature.Info) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Operators returns the definitions of the operators in this package.
func Operators() []Definition {
	return []Definition{
		andDefinition(), orDefinition(), notDefinition(),
		eqDefinition(), neDefinition(), gtDefinition(), gteDefinition(), ltDefinition(), lteDefinition(),
		cmpDefinition(),
		condDefinition(), ifNullDefinition(), switchDefinition(),
		functionDefinition(), toHashedIndexKeyDefinition(), letDefinition(), literalDefinition(), constDefinition(),
		metaDefinition(), randDefinition(),
		typeDefinition(), isNumberDefinition(),
	}
}
