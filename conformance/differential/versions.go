package main

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
)

// newerCodes are codes of the 9.0 engine and what 8.0 answers.
var newerCodes = map[int32]int32{
	10503902: 51744, 10503903: 51745, 10503904: 51746, // $replaceOne, $replaceAll: replacement, find, input
	9711600: 40096, 9711601: 40097, // $indexOfArray: the start's type, its sign
	12109300: 40105, // $graphLookup without what it needs
	8745900:  40400, // $mergeObjects in $bucketAuto
}

// olderCode returns the code of 8.0 for one of the 9.0 engine.
func olderCode(code any) any {
	n, _ := code.(int32)
	if older, isNew := newerCodes[n]; isNew {
		return older
	}
	return code
}

// engineFault is the code of an internal error of the 9.0 alpha engine: a comparison with a symbol
// on an indexed field. It is no answer that another server could give.
const engineFault = 4457011

// newConversions are the types that only the 9.0 engine converts, by the target's name.
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
			return op("$toInt", "no number") // refused where the constant is computed, which is before any document
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

// isNewConstant reports whether a value is a constant, and one of those that 8.0 does not convert
// to text.
func isNewConstant(v any) (isNew, known bool) {
	switch v := v.(type) {
	case bson.A:
		return true, !mentions(v, "", func(_, key string, value any) bool {
			text, _ := value.(string)
			return strings.HasPrefix(key, "$") || strings.HasPrefix(text, "$")
		})
	case bson.D:
		return true, len(v) == 0
	}
	return false, false
}

// failingConversion is refused (241) where it is computed, and not before.
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
