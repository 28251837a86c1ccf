package parsing

import "github.com/sheafdb/sheaf/internal/bsonx"

// Walker is told what the arguments of stages contain. The values may be malformed.
type Walker interface {
	// Collection is called with a collection of the same database that the stage reads.
	Collection(name string)
	// Pipeline is called with stages that the stage runs.
	Pipeline(stages bsonx.Value)
	// Update is called with the pipeline of an update.
	Update(stages bsonx.Value)
	// Filter is called with a query, which is missing where the argument has none.
	Filter(query bsonx.Value)
	// Expression is called with an expression, or a document or array of expressions.
	Expression(v bsonx.Value)
	// Accumulators is called with a document of fields that accumulators compute.
	Accumulators(fields bsonx.Value)
	// Windows is called with a document of fields that window functions compute.
	Windows(fields bsonx.Value)
}

// Ignoring is a Walker that does nothing. Walkers embed it, and override what they want to know.
type Ignoring struct{}

// Collection implements Walker.
func (Ignoring) Collection(string) {}

// Pipeline implements Walker.
func (Ignoring) Pipeline(bsonx.Value) {}

// Update implements Walker.
func (Ignoring) Update(bsonx.Value) {}

// Filter implements Walker.
func (Ignoring) Filter(bsonx.Value) {}

// Expression implements Walker.
func (Ignoring) Expression(bsonx.Value) {}

// Accumulators implements Walker.
func (Ignoring) Accumulators(bsonx.Value) {}

// Windows implements Walker.
func (Ignoring) Windows(bsonx.Value) {}

// InsideNothing is the Inside of a stage whose argument has values only.
func InsideNothing(bsonx.Value, Walker) {}

// InsideExpressions is the Inside of a stage whose argument is an expression, or has expressions as
// its fields.
func InsideExpressions(arg bsonx.Value, w Walker) { w.Expression(arg) }

// Argument returns a field of an argument, missing where the argument is not a document.
func Argument(arg bsonx.Value, name string) bsonx.Value {
	if arg.Type != bsonx.TypeDocument {
		return bsonx.Missing
	}
	return arg.Doc().Lookup(name)
}
