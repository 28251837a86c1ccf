package str

import (
	"bytes"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// stringRoom is the number of bytes of a string element in a BSON array, without its characters and
// its key: type, end of the key, length, and end of the string.
const stringRoom = 7

func indexOfBytesDefinition() expr.Definition {
	return expr.Definition{
		Name: "$indexOfBytes", Family: family, Parse: expr.MakeN(indexOfBytes),
		Min: 2, Max: 4,
		Lazy: &expr.Laziness{
			From: 1, Rest: []bsonx.Value{bsonx.Missing, bsonx.String(""), bsonx.Int32(0), bsonx.Int32(0)},
		},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func indexOfBytes(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	return indexOf(out, "$indexOfBytes", 40091, args, func(text []byte) int { return len(text) }, indexWithin)
}

func indexOfCPDefinition() expr.Definition {
	return expr.Definition{
		Name: "$indexOfCP", Family: family, Parse: expr.MakeN(indexOfCP),
		Min: 2, Max: 4,
		Lazy: &expr.Laziness{
			From: 1, Rest: []bsonx.Value{bsonx.Missing, bsonx.String(""), bsonx.Int32(0), bsonx.Int32(0)},
		},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func indexOfCP(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	return indexOf(out, "$indexOfCP", 40093, args, countCodePoints, indexOfCodePoints)
}

// indexWithin returns the position of sought in text[from:to], or -1. The position counts from the
// start of text.
func indexWithin(text, sought []byte, from, to int) int {
	if i := bytes.Index(text[from:to], sought); i >= 0 {
		return from + i
	}
	return -1
}

// indexOfCodePoints returns the position of sought, in code points, or -1. As in MongoDB, the
// occurrence must begin between the code points from and to, but may end after to. So an empty
// string is found before a code point and in an empty text, but not at the end of a text.
func indexOfCodePoints(text, sought []byte, from, to int) int {
	if len(text) == 0 && len(sought) == 0 {
		return 0
	}
	start, ok := skipCodePoints(text, from)
	if !ok {
		return -1
	}
	i := bytes.Index(text[start:], sought)
	if i < 0 {
		return -1
	}
	if at := from + countCodePoints(text[start:start+i]); at < to {
		return at
	}
	return -1
}

// indexOf implements the $indexOf operators on strings for a unit, which is bytes or code points.
// length returns the length of a text in units. search finds a text between two positions.
func indexOf(out *bsonx.Arena, name string, code mongoerr.Code, args []bsonx.Value,
	length func([]byte) int, search func(text, sought []byte, from, to int) int,
) (bsonx.Value, error) {
	if expr.Nullish(args[0]) {
		return bsonx.Null, nil
	}
	if args[0].Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(code,
			"%s requires a string as the first argument, found: %s", name, args[0].Type)
	}
	if args[1].Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(code+1,
			"%s requires a string as the second argument, found: %s", name, args[1].Type)
	}
	text, sought := args[0].StrBytes(), args[1].StrBytes()
	units := length(text)
	from, to, err := expr.SearchBounds(name, args[2:], units)
	if err != nil {
		return bsonx.Missing, err
	}
	if from > units || to < from {
		return out.Int32(-1), nil
	}
	return out.Int32(int32(search(text, sought, from, to))), nil
}
