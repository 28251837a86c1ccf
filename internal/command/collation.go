package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// checkCollation accepts collations that change no answer: none, the simple locale, or any where the operands given
// hold no text to compare. Collations that would matter are not supported yet and are refused.
func checkCollation(v bsonx.Value, operands ...bsonx.Value) error {
	if v.Type != bsonx.TypeDocument || v.Doc().IsEmpty() {
		return nil
	}
	locale := v.Doc().Lookup("locale")
	switch {
	case locale.IsMissing():
		return MissingField("collation.locale")
	case locale.Type != bsonx.TypeString:
		return WrongType("collation.locale", locale.Type, String)
	case locale.Str() == "simple":
		return nil
	}
	for _, operand := range operands {
		if hasText(operand) {
			return errCollation(locale.Str())
		}
	}
	if len(operands) == 0 {
		return errCollation(locale.Str())
	}
	return nil
}

func errCollation(locale string) error {
	return mongoerr.New(mongoerr.NotImplemented, "collation with locale %q is not supported yet where strings are compared", locale)
}

// hasText reports whether a value holds anything that a collation could compare: text, or an expression or sort pattern,
// which compare text of documents.
func hasText(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeString, bsonx.TypeSymbol, bsonx.TypeCode, bsonx.TypeCodeWithScope:
		return true
	case bsonx.TypeDocument, bsonx.TypeArray:
		for it := v.Doc().Iter(); it.Next(); {
			if comparesFields[string(it.Key())] || hasText(it.Value()) {
				return true
			}
		}
	default: // the others need nothing here
	}
	return false
}

// comparesFields are the operators that compare values of a document with each other.
var comparesFields = map[string]bool{"$expr": true, "$sort": true, "$jsonSchema": true, "$where": true, "$addToSet": true, "$pull": true, "$pullAll": true}

// sortOperand makes a sort pattern an operand of checkCollation: every sort compares text but that by nothing.
func sortOperand(pattern bsonx.Doc) bsonx.Value {
	if pattern.IsEmpty() {
		return bsonx.Missing
	}
	return bsonx.Document(bsonx.NewDoc("$sort", pattern))
}
