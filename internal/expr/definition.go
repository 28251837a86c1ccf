package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Definition is one operator with all its properties. It stands in the operator's file and does
// not change after NewTable.
type Definition struct {
	Name   string
	Family string
	// Parse compiles a use. nil means that the operator is known and not implemented.
	Parse ParseFunc
	// Min and Max bound the number of operands of OpN, MakeN, WatchN and CollateN. Max is -1 if
	// there is no limit.
	Min, Max int
	Called   string // its name in MongoDB's messages, if that is another one
	Note     string // for the table of supported operators
	Verbatim bool   // its argument is a value, not an expression

	// The answers below have no default: TestDefinitionsAreComplete fails if one is missing.

	// Total says that every value of the operands has a result and that nobody notices how often
	// the operator is evaluated. A stage may then evaluate it for fewer documents. No also stands
	// for an operator of which this is not known.
	Total feature.Answer
	// Folds says that the operator is evaluated when it is compiled, if its operands are constant.
	Folds feature.Answer
	// Depends says what decides the result apart from the operands.
	Depends Dependence
	// StableAPI says that the stable API has the operator: apiStrict refuses one without.
	StableAPI feature.Answer

	// NotInValidator is MongoDB's error about an operator that is not repeatable in a collection's
	// validator, if it is not the usual one.
	NotInValidator *mongoerr.Error

	// Lazy says that operands are looked at one after the other. nil evaluates all of them first.
	Lazy *Laziness
	// Swapped says that the second of two operands is evaluated first: if both fail, the error is
	// that of the second one.
	Swapped bool
	// Association says which constant operands are combined before the others are known.
	Association Association

	// Arguments are the names of the arguments in the order in which explain shows them. An
	// argument whose name begins with = is shown as it was written.
	Arguments []string
	// Form writes a use as explain shows it. nil shows the named arguments, or a list of operands.
	Form FormFunc
}

// ParseFunc compiles a use of an operator.
type ParseFunc func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error)

// FormFunc writes a use of an operator as explain shows it. The use was parsed without an error.
type FormFunc func(s SerialScope, def *Definition, arg bsonx.Value) Serial

// Dependence says what decides an operator's result apart from the values of its operands. The
// zero value says nothing.
type Dependence byte

// What a result depends on.
const (
	_          Dependence = iota
	OnOperands            // nothing else: the collation and the time of the command are the same for all documents
	OnMetadata            // the metadata of the document
	OnChance              // a random number: the next result may differ
	OnCode                // JavaScript of the client, which may do anything
)

// Varies reports whether anything but the operands decides the result.
func (d Dependence) Varies() bool { return d == OnMetadata || d == OnChance || d == OnCode }

// Repeatable reports whether a second evaluation for the same document has the same result.
func (d Dependence) Repeatable() bool { return d == OnOperands || d == OnMetadata }
