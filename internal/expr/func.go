package expr

import "github.com/sheafdb/sheaf/internal/bsonx"

// Func is an expression implemented by its caller, for features that are not operators of the
// language, such as $elemMatch in a projection.
type Func func(ctx *Context) (bsonx.Value, error)

// Eval calls the function.
func (f Func) Eval(ctx *Context) (bsonx.Value, error) { return f(ctx) }

// Children returns nil, although the function may read any part of the document.
func (f Func) Children() []Expr { return nil }
