package str

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		{Name: "$regexFind", Family: "string", Parse: parseRegex, Late: true},
		{Name: "$regexFindAll", Family: "string", Parse: parseRegex, Late: true},
		{Name: "$regexMatch", Family: "string", Parse: parseRegex, Late: true},
		expr.Lazily(expr.OpAssociative("$concat", "string", expr.AssocFull, concat), 1),
		mapASCII("$toLower", 'A', 'Z'),
		mapASCII("$toUpper", 'a', 'z'),
		expr.Make2("$strcasecmp", "string", strcasecmp),
		calledElse(expr.MakeN("$substr", "string", 3, 3, substrBytes), "$substrBytes"),
		expr.MakeN("$substrBytes", "string", 3, 3, substrBytes),
		expr.MakeN("$substrCP", "string", 3, 3, substrCP),
		expr.Make1("$strLenBytes", "string", strLenBytes),
		expr.Make1("$strLenCP", "string", strLenCP),
		expr.Watch2("$split", "string", split),
		expr.Lazily(expr.MakeN("$indexOfBytes", "string", 2, 4, indexOfBytes), 1, bsonx.Missing, bsonx.String(""), bsonx.Int32(0), bsonx.Int32(0)),
		expr.Lazily(expr.MakeN("$indexOfCP", "string", 2, 4, indexOfCP), 1, bsonx.Missing, bsonx.String(""), bsonx.Int32(0), bsonx.Int32(0)),
		trim("$trim", true, true), trim("$ltrim", true, false), trim("$rtrim", false, true),
		replace("$replaceOne", 1), replace("$replaceAll", -1),
	}
}

// calledElse names an operator by another name in messages, because it is the same as that one.
func calledElse(def expr.Definition, name string) expr.Definition {
	def.Called = name
	return def
}
