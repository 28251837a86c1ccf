package parsing

import "github.com/sheafdb/sheaf/internal/bsonx"

// Walker is told the contents of a stage's argument. The values may be malformed.
type Walker interface {
	// Collection is called with the name of a collection in the same database that the stage reads.
	Collection(name string)
	// Pipeline is called with the stages of a sub-pipeline.
	Pipeline(stages bsonx.Value)
	// Update is called with the stages of an update pipeline.
	Update(stages bsonx.Value)
	// Filter is called with a query, or with bsonx.Missing if the argument contains no query.
	Filter(query bsonx.Value)
	// Expression is called with an expression, or with a document or array of expressions.
	Expression(v bsonx.Value)
	// Accumulators is called with a document whose fields are accumulators.
	Accumulators(fields bsonx.Value)
	// Windows is called with a document whose fields are window functions.
	Windows(fields bsonx.Value)
}

// Ignoring is a Walker that does nothing. A Walker embeds it and overrides the methods that it
// needs.
type Ignoring struct{}

// Collection ignores the name of a collection.
func (Ignoring) Collection(string) {}

// Pipeline ignores a sub-pipeline.
func (Ignoring) Pipeline(bsonx.Value) {}

// Update ignores an update.
func (Ignoring) Update(bsonx.Value) {}

// Filter ignores a filter.
func (Ignoring) Filter(bsonx.Value) {}

// Expression ignores an expression.
func (Ignoring) Expression(bsonx.Value) {}

// Accumulators ignores a document of accumulators.
func (Ignoring) Accumulators(bsonx.Value) {}

// Windows ignores a document of window functions.
func (Ignoring) Windows(bsonx.Value) {}

// InsideNothing implements Definition.Inside for a stage whose argument contains only plain values.
func InsideNothing(bsonx.Value, Walker) {}

// InsideExpressions implements Definition.Inside for a stage whose argument is an expression or a
// document of expressions.
func InsideExpressions(arg bsonx.Value, w Walker) { w.Expression(arg) }

// Argument returns the named field of arg, or bsonx.Missing if arg is not a document or has no such
// field.
func Argument(arg bsonx.Value, name string) bsonx.Value {
	if arg.Type != bsonx.TypeDocument {
		return bsonx.Missing
	}
	return arg.Doc().Lookup(name)
}
