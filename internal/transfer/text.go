package transfer

import (
	"fmt"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// notText returns the path of a document's first name or string that is not UTF-8, quoted; an empty string if there is none.
func notText(doc bson.Raw) string {
	if utf8.Valid(doc) {
		return "" // the usual case: all bytes are ASCII or text
	}
	path := notTextIn(doc, "")
	if path == "" {
		return ""
	}
	return fmt.Sprintf("%+q", path)
}

func notTextIn(doc bson.Raw, prefix string) string {
	elements, err := doc.Elements()
	if err != nil {
		return ""
	}
	for _, e := range elements {
		path := prefix + e.Key()
		if !utf8.ValidString(e.Key()) || !isText(e.Value()) {
			return path
		}
		if t := e.Value().Type; t == bson.TypeEmbeddedDocument || t == bson.TypeArray {
			if inner := notTextIn(bson.Raw(e.Value().Value), path+"."); inner != "" {
				return inner
			}
		}
	}
	return ""
}

// isDeepText reports whether all names and strings of a value are UTF-8.
func isDeepText(v bson.RawValue) bool {
	if v.Type == bson.TypeEmbeddedDocument || v.Type == bson.TypeArray {
		return notTextIn(bson.Raw(v.Value), "") == ""
	}
	return isText(v)
}

// isText reports whether the strings of a value that is no document are UTF-8.
func isText(v bson.RawValue) bool {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		return utf8.Valid(v.Value[4:])
	case bson.TypeRegex:
		return utf8.Valid(v.Value)
	case bson.TypeDBPointer:
		return utf8.Valid(v.Value[4 : len(v.Value)-12])
	case bson.TypeCodeWithScope:
		code, scope := v.CodeWithScope()
		return utf8.ValidString(code) && notTextIn(scope, "") == ""
	default:
		return true
	}
}
