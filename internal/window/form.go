package window

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// Serialize returns the explained form of the use of a function, such as {$sum: "$a", window: …}.
// The use was parsed without an error before. It shows the default window if the client wrote none.
func Serialize(e expr.Serializer, spec bsonx.Doc) bsonx.Doc {
	var use bsonx.Elem
	for it := spec.Iter(); it.Next(); {
		if strings.HasPrefix(string(it.Key()), "$") {
			use = bsonx.Elem{Key: it.Key(), Value: it.Value()}
		}
	}
	def := find(string(use.Key))
	form := def.form(e, use.Value)
	if def.Windowless {
		return form
	}
	window := spec.Lookup("window")
	if window.IsMissing() {
		window = bsonx.Document(bsonx.NewDoc("documents", bsonx.NewArray("unbounded", "unbounded")))
	}
	first := form.First()
	return bsonx.NewDoc(string(first.Key), first.Value, "window", window)
}

// form returns the explained form of the function with its argument.
func (d *definition) form(e expr.Serializer, arg bsonx.Value) bsonx.Doc {
	if d.Form != nil {
		return bsonx.NewDoc(d.Name, d.Form(e, arg))
	}
	return accumulator.Serialize(e, d.Name, arg).Doc()
}

// writtenForm is the form of an argument that is shown as the client wrote it.
func writtenForm(_ expr.Serializer, arg bsonx.Value) bsonx.Value { return arg }

// argumentsForm returns the form of named arguments, in the order of names. A name that begins with
// = marks an argument that is shown as the client wrote it.
func argumentsForm(names ...string) func(e expr.Serializer, arg bsonx.Value) bsonx.Value {
	return func(e expr.Serializer, arg bsonx.Value) bsonx.Value {
		return bsonx.Document(e.Arguments(arg.Doc(), names...))
	}
}
