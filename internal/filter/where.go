package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Where is $where: it matches if a JavaScript function returns true for the document, which is its
// `this`.
type Where struct {
	Code string

	fn js.Func
}

// Kind returns KindWhere.
func (*Where) Kind() Kind { return KindWhere }

// matchDoc runs the function.
func (n *Where) matchDoc(doc bsonx.Doc, st *state) bool {
	ok, err := n.fn.Test(doc)
	if err != nil {
		return st.fail(err)
	}
	return ok
}

// matchElem is never called, because the parser rejects $where inside $elemMatch.
func (n *Where) matchElem(bsonx.Value, *state) bool { return false }

func (n *Where) serialize(b *serializer) {
	code := bsonx.String(n.Code)
	b.Value("$where", bsonx.Value{Type: bsonx.TypeCode, Data: code.Data})
}

func parseWhere(p *parser, _ string, v bsonx.Value, level level, _ int) (Node, error) {
	if !p.opts.AllowWhere {
		return nil, mongoerr.New(mongoerr.BadValue, "$where is not allowed in this context")
	}
	switch v.Type {
	case bsonx.TypeString, bsonx.TypeCode:
	case bsonx.TypeCodeWithScope:
		return nil, mongoerr.New(4649201, "$where no longer supports deprecated BSON type CodeWScope")
	default:
		return nil, mongoerr.New(mongoerr.BadValue, "$where got bad type")
	}
	if level == levelElem {
		return nil, mongoerr.New(mongoerr.BadValue, "$where can only be applied to the top-level document")
	}
	opts := p.opts.Vars.Scripts()
	if opts.Refused() {
		return nil, mongoerr.New(mongoerr.BadValue, "no globalScriptEngine in $where parsing")
	}
	if v.Str() == "" {
		return nil, mongoerr.New(mongoerr.BadValue, "code for $where cannot be empty")
	}
	if p.opts.JSTimeout > 0 {
		opts.Timeout = p.opts.JSTimeout
	}
	fn, err := js.New(v.Str(), opts)
	if err != nil {
		return nil, err
	}
	return &Where{Code: v.Str(), fn: fn}, nil
}
