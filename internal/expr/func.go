package expr

import "github.com/sheafdb/sheaf/internal/bsonx"

// Func is an expression that a caller brings along, for what is no operator of the language (find's
// $elemMatch).
type Func func(ctx *Context) (bsonx.Value, error)

// Eval calls the function.
func (f Func) Eval(ctx *Context) (bsonx.Value, error) { return f(ctx) }

// Children returns nothing: what the function reads is not known.
func (f Func) Children() []Expr { return nil }
