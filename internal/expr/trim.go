package expr

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// whitespace is what the trim operators remove without chars.
const whitespace = "\x00 \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"

func trimOperators() []definition {
	return []definition{
		trim("$trim", true, true), trim("$ltrim", true, false), trim("$rtrim", false, true),
		replace("$replaceOne", 1), replace("$replaceAll", -1),
	}
}

func trim(name string, left, right bool) definition {
	codes := namedCodes{
		notObject: 50696, unknown: unknownArgument{50694, foundUnknown}, missing: []mongoerr.Code{50695},
		notObjectText: "%s only supports an object as an argument, found %s", missingText: "%s requires an '%s' field",
	}
	def := opNamedOptional(name, "string", codes, 1, []string{"input", "chars"}, func(args []bsonx.Value, given []bool) (bsonx.Value, error) {
		input, chars := args[0], args[1]
		if nullish(input) {
			return bsonx.Null, nil
		}
		if input.Type != bsonx.TypeString {
			return bsonx.Missing, mongoerr.New(50699, "%s requires its input to be a string, got %s (of type %s) instead.", name, Show(input), input.Type)
		}
		set := whitespace
		if given[1] {
			if nullish(chars) {
				return bsonx.Null, nil
			}
			if chars.Type != bsonx.TypeString {
				return bsonx.Missing, mongoerr.New(50700, "%s requires 'chars' to be a string, got %s (of type %s) instead.", name, Show(chars), chars.Type)
			}
			set = chars.Str()
		}
		text := input.Str()
		if left {
			text = strings.TrimLeft(text, set)
		}
		if right {
			text = strings.TrimRight(text, set)
		}
		return bsonx.String(text), nil
	})
	return lazily(def, 1, bsonx.Missing, bsonx.String(""))
}

// replace makes $replaceOne and $replaceAll; n is how many occurrences, -1 for all.
func replace(name string, n int) definition {
	codes := namedCodes{
		notObject: 51751, unknown: unknownArgument{51750, foundUnknown}, missing: []mongoerr.Code{51749, 51748, 51747},
		notObjectText: "%s requires an object as an argument, found: %s", missingText: "%s requires '%s' to be specified",
	}
	names := []string{"input", "find", "replacement"}
	def := opNamed(name, "string", codes, 3, names, func(args []bsonx.Value) (bsonx.Value, error) {
		null := false
		for i, v := range args {
			if nullish(v) {
				null = true
			} else if v.Type != bsonx.TypeString {
				return bsonx.Missing, mongoerr.New(mongoerr.Code(51746-i), "%s requires that '%s' be a string, found: %s", name, names[i], v.Type)
			}
		}
		if null {
			return bsonx.Null, nil
		}
		text, find, by := args[0].Str(), args[1].Str(), args[2].Str()
		if longer := len(by) - len(find); longer > 0 && n < 0 {
			if err := checkText(len(text) + strings.Count(text, find)*longer); err != nil {
				return bsonx.Missing, err
			}
		}
		replaced := strings.Replace(text, find, by, n)
		return bsonx.String(replaced), checkText(len(replaced))
	})
	def.late = true
	return def
}
