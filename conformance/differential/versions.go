package main

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// newerCodes maps error codes of the 9.0 engine to the codes of 8.0.
var newerCodes = map[int32]int32{
	10503902: 51744, 10503903: 51745, 10503904: 51746, // $replaceOne, $replaceAll: replacement, find, input
	9711600: 40096, 9711601: 40097, // $indexOfArray: the type and the sign of the start
	12109300: 40105, // $graphLookup: a missing argument
	8745900:  40400, // $mergeObjects in $bucketAuto
}

// olderCode translates an error code of the 9.0 engine to the code of 8.0.
func olderCode(code any) any {
	n, _ := code.(int32)
	if older, isNew := newerCodes[n]; isNew {
		return older
	}
	return code
}

// engineFault is the code of an internal error of the 9.0 alpha engine. It occurs for a comparison
// with a symbol on an indexed field. Other servers never return it.
const engineFault = 4457011

// newConversions maps a target type to the types that only the 9.0 engine converts to it.
var newConversions = map[any][]any{
	"string": {
		"object", "array", "regex", "javascript", "javascriptWithScope", "symbol", "timestamp",
		"minKey", "maxKey", "dbPointer",
	},
	"binData": {"object", "array"},
}

func refuseConversion(name string, arg any) any {
	if name == "$toString" {
		if list, isList := arg.(bson.A); isList && len(list) == 1 {
			arg = list[0]
		}
		if isNew, known := isNewConstant(arg); known && isNew {
			return op("$toInt", "no number") // a constant is evaluated, and so rejected, before any document is read
		} else if known {
			return nil
		}
		return cond(typeIn(arg, newConversions["string"]...), failingConversion(), op(name, bson.A{arg}))
	}
	spec, _ := arg.(bson.D)
	to := lookup(spec, "to")
	switch sameTo := func(v any) bool { return to != nil && sameValue(to, v) }; {
	case sameTo(int32(2)):
		to = "string"
	case sameTo(int32(5)):
		to = "binData"
	}
	text, _ := to.(string)
	if name != "$convert" || newConversions[text] == nil {
		return nil
	}
	otherwise := any(failingConversion())
	if hasField(spec, "onError") {
		otherwise = lookup(spec, "onError")
	}
	return cond(typeIn(lookup(spec, "input"), newConversions[text]...), otherwise, op(name, arg))
}

// isNewConstant reports whether a value is one that the 9.0 engine converts to a string, and 8.0
// does not: an array, a document, or a value of another such type. known reports whether the value
// is certainly a constant.
func isNewConstant(v any) (isNew, known bool) {
	if literal, isLiteral := v.(bson.D); isLiteral && len(literal) == 1 && literal[0].Key == "$literal" {
		isNew = isNewType(literal[0].Value)
		return isNew, isNew
	}
	return isNewType(v), isNewType(v) && !mentions(v, "", func(_, key string, value any) bool {
		text, _ := value.(string)
		return strings.HasPrefix(key, "$") || strings.HasPrefix(text, "$")
	})
}

// isNewType reports whether only the 9.0 engine converts the type of a value to a string.
func isNewType(v any) bool {
	switch v.(type) {
	case bson.A, bson.D, primitive.Regex, primitive.JavaScript, primitive.CodeWithScope, primitive.Symbol,
		primitive.Timestamp, primitive.MinKey, primitive.MaxKey, primitive.DBPointer:
		return true
	}
	return false
}

// failingConversion returns an expression that fails with code 241 when it is evaluated, but not
// when it is parsed.
func failingConversion() bson.D {
	return op("$toInt", op("$concat", bson.A{"no number: ", op("$type", "$$ROOT")}))
}

func refuseRegex(name string, arg any) any {
	spec, _ := arg.(bson.D)
	if name != "$replaceOne" && name != "$replaceAll" || !hasField(spec, "find") {
		return nil
	}
	out := slices.Clone(spec)
	for i, e := range out {
		if e.Key == "find" {
			out[i].Value = cond(typeIn(e.Value, "regex"), int32(1), e.Value)
		}
	}
	return op(name, out)
}
