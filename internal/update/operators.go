package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
)

// definition describes an update operator.
type definition struct {
	name   string
	family string
	note   string
	// parse compiles the operator with its argument at path. path is well-formed. It is nil if the
	// definition has add.
	parse func(p *parser, path string, arg bsonx.Value) (operator, error)
	// add compiles an operator that concerns several paths. It checks path, and adds an operator
	// for each of the paths.
	add func(p *parser, def *definition, path string, arg bsonx.Value) error
	// insertOnly marks an operator that has an effect only in an upsert that inserts.
	insertOnly bool
}

// definitions is the table of all update operators.
var definitions = [...]definition{
	{name: "$currentDate", family: "field", parse: parseCurrentDate, note: "true or {$type: 'date' | 'timestamp'}"},
	{name: "$inc", family: "field", parse: parseInc},
	{name: "$max", family: "field", parse: parseMax},
	{name: "$min", family: "field", parse: parseMin},
	{name: "$mul", family: "field", parse: parseMul},
	{name: "$rename", family: "field", add: (*parser).rename},
	{name: "$set", family: "field", parse: parseSet},
	{name: "$setOnInsert", family: "field", parse: parseSet, insertOnly: true},
	{name: "$unset", family: "field", parse: parseUnset},
	{name: "$addToSet", family: "array", parse: parseAddToSet, note: "with $each"},
	{name: "$pop", family: "array", parse: parsePop},
	{
		name: "$pull", family: "array", parse: parsePull,
		note: "value, condition, object condition or regular expression",
	},
	{name: "$pullAll", family: "array", parse: parsePullAll},
	{name: "$push", family: "array", parse: parsePush, note: "with $each, $position, $slice, $sort"},
	{name: "$bit", family: "bitwise", parse: parseBit, note: "and, or, xor"},
}

// findOperator returns the definition of an operator, or nil.
func findOperator(name string) *definition {
	for i := range definitions {
		if definitions[i].name == name {
			return &definitions[i]
		}
	}
	return nil
}

// Operators lists all update operators, the modifiers of $push and $addToSet and the positional
// steps of paths. Their families are field, array, bitwise, modifier and path.
func Operators() []feature.Info {
	var out []feature.Info
	for _, def := range definitions {
		out = append(out, feature.Info{Name: def.name, Family: def.family, Note: def.note})
	}
	return append(out,
		feature.Info{Name: "$each", Family: "modifier", Note: "of $push and $addToSet"},
		feature.Info{Name: "$position", Family: "modifier", Note: "of $push"},
		feature.Info{Name: "$slice", Family: "modifier", Note: "of $push"},
		feature.Info{Name: "$sort", Family: "modifier", Note: "of $push"},
		feature.Info{Name: "$", Family: "path", Note: "the first element that the query matched"},
		feature.Info{Name: "$[]", Family: "path", Note: "all elements"},
		feature.Info{Name: "$[<identifier>]", Family: "path", Note: "the elements that an array filter chooses"},
	)
}
