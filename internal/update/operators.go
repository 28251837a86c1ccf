package update

import "github.com/sheafdb/sheaf/internal/bsonx"

// definition is an update operator: its parser and its documentation.
type definition struct {
	name   string
	family string
	note   string
	// parse compiles the operator's argument for a well-formed path.
	parse func(p *parser, path string, arg bsonx.Value) (operator, error)
	// insertOnly operators have an effect only in an upsert that inserts.
	insertOnly bool
}

// definitions is the table of all update operators.
var definitions = [...]definition{
	{name: "$currentDate", family: "field", parse: parseCurrentDate, note: "true or {$type: 'date' | 'timestamp'}"},
	{name: "$inc", family: "field", parse: parseInc},
	{name: "$max", family: "field", parse: parseMax},
	{name: "$min", family: "field", parse: parseMin},
	{name: "$mul", family: "field", parse: parseMul},
	{name: "$rename", family: "field"}, // two paths: see parser.rename
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

// OperatorInfo describes an update operator, for documentation and tests.
type OperatorInfo struct {
	Name   string
	Family string // "field", "array", "bitwise", "modifier" or "path"
	Status string // "supported" or "known"
	Note   string
}

// Operators lists all update operators, the modifiers of $push and $addToSet and the positional
// steps of paths.
func Operators() []OperatorInfo {
	var out []OperatorInfo
	for _, def := range definitions {
		out = append(out, OperatorInfo{def.name, def.family, "supported", def.note})
	}
	return append(out,
		OperatorInfo{"$each", "modifier", "supported", "of $push and $addToSet"},
		OperatorInfo{"$position", "modifier", "supported", "of $push"},
		OperatorInfo{"$slice", "modifier", "supported", "of $push"},
		OperatorInfo{"$sort", "modifier", "supported", "of $push"},
		OperatorInfo{"$", "path", "supported", "the first element that the query matched"},
		OperatorInfo{"$[]", "path", "supported", "all elements"},
		OperatorInfo{"$[<identifier>]", "path", "supported", "the elements that an array filter chooses"},
	)
}
