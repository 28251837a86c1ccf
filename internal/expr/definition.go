package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Definition describes an operator with all its properties. It stands in the operator's file and
// does not change after NewTable.
type Definition struct {
	Name   string
	Family string
	// Parse compiles a use of the operator. nil means that the operator is known but not
	// implemented.
	Parse ParseFunc
	// Min and Max bound the number of operands for OpN, MakeN, WatchN and CollateN. Max is -1 if
	// there is no limit.
	Min, Max int
	Called   string // the name in MongoDB's messages, if it differs from Name
	Note     string // for the table of supported operators
	Verbatim bool   // the argument is a value and not an expression

	// The following properties have no default: TestDefinitionsAreComplete fails if one is not set.

	// Total tells whether the operator has a result for all operand values, and the number of
	// evaluations has no effect. A stage may then evaluate it for fewer documents. No also means
	// that this is not known.
	Total feature.Answer
	// Folds tells whether the operator is evaluated at parse time if its operands are constant.
	Folds feature.Answer
	// Depends names the inputs of the result other than the operands.
	Depends Dependence
	// StableAPI tells whether the Stable API includes the operator. With apiStrict, other operators
	// are an error.
	StableAPI feature.Answer

	// NotInValidator is the error for an operator in a collection's validator, if the operator is
	// not repeatable and the error differs from the usual one.
	NotInValidator *mongoerr.Error

	// Lazy describes an operator that checks its operands one after the other. nil means that all
	// operands are evaluated first.
	Lazy *Laziness
	// Swapped reports whether the second of two operands is evaluated first. If both fail, the
	// error is then the error of the second operand.
	Swapped bool
	// Association tells which constant operands can be combined before the other operands are
	// known.
	Association Association

	// Arguments lists the names of the arguments in the order of explain. An argument whose name
	// begins with = is shown as the client wrote it.
	Arguments []string
	// Form returns the explained form of a use. If it is nil, the form has the named arguments or a
	// list of operands.
	Form FormFunc
}

// ParseFunc compiles a use of an operator with the argument arg.
type ParseFunc func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error)

// FormFunc returns the explained form of a use of an operator. The use was parsed without an error
// before.
type FormFunc func(s SerialScope, def *Definition, arg bsonx.Value) Serial

// Dependence names the inputs of an operator's result other than its operands. The zero value means
// that the property is not set.
type Dependence byte

// Values of Dependence.
const (
	_ Dependence = iota
	// OnOperands means no other input. The collation and $$NOW are the same for all documents of a
	// command.
	OnOperands
	OnMetadata // the metadata of the document
	OnChance   // a random number, so that the next result may differ
	OnCode     // JavaScript code of the client, which may do anything
)

// Varies reports whether the result has inputs other than the operands.
func (d Dependence) Varies() bool { return d == OnMetadata || d == OnChance || d == OnCode }

// Repeatable reports whether a second evaluation for the same document gives the same result.
func (d Dependence) Repeatable() bool { return d == OnOperands || d == OnMetadata }
