package transfer

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// notText returns the quoted path of a document's first name or string that is not UTF-8, or "".
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

// ambiguous returns the quoted path of a document's first field that Extended JSON does not
// preserve, or "". Examples are a document such as {$numberInt: "5"}, which would be read as a
// number, or a DBPointer whose name has a quote, which the driver does not escape.
func ambiguous(doc bson.Raw) string {
	elements, err := doc.Elements()
	if err != nil {
		return ""
	}
	for _, e := range elements {
		if v := e.Value(); isRisky(v) && !keeps(v) {
			return strconv.Quote(e.Key())
		}
	}
	return ""
}

// isRisky reports whether a value contains a document with a name that begins with $, a DBPointer
// or binary data of the old subtype. Extended JSON, as the driver writes it, preserves all other
// values.
func isRisky(v bson.RawValue) bool {
	doc := bson.Raw(v.Value)
	switch v.Type {
	case bson.TypeEmbeddedDocument, bson.TypeArray:
	case bson.TypeCodeWithScope:
		_, doc = v.CodeWithScope()
	case bson.TypeDBPointer:
		return true
	case bson.TypeBinary:
		return len(v.Value) > 4 && v.Value[4] == bson.TypeBinaryBinaryOld
	default:
		return false
	}
	elements, err := doc.Elements()
	return err == nil && slices.ContainsFunc(elements, func(e bson.RawElement) bool {
		return strings.HasPrefix(e.Key(), "$") || isRisky(e.Value())
	})
}

// keeps reports whether a value stays the same when it is written as canonical Extended JSON and
// read again.
func keeps(v bson.RawValue) bool {
	doc, err := bson.Marshal(bson.D{{"v", v}})
	if err != nil {
		return false
	}
	text, err := bson.MarshalExtJSON(bson.Raw(doc), true, false)
	if err != nil {
		return false
	}
	var read bson.Raw
	return bson.UnmarshalExtJSON(text, true, &read) == nil && bytes.Equal(read, doc)
}

// isDeepText reports whether all names and strings of a value are UTF-8.
func isDeepText(v bson.RawValue) bool {
	if v.Type == bson.TypeEmbeddedDocument || v.Type == bson.TypeArray {
		return notTextIn(bson.Raw(v.Value), "") == ""
	}
	return isText(v)
}

// isText reports whether the strings of a value are UTF-8. The value must not be a document.
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
