package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// parsePullAll compiles $pullAll, which removes every element that equals one of the values. A
// regular expression is a value here and not a pattern.
func parsePullAll(p *parser, _ string, arg bsonx.Value) (operator, error) {
	if arg.Type != bsonx.TypeArray {
		return nil, mongoerr.New(mongoerr.BadValue, "$pullAll requires an array argument but was given a %s", arg.Type)
	}
	return &pullOp{matches: matchAny(arg.Doc().Values(), p.opts.compare())}, nil
}
