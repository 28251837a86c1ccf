package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Where is $where: a JavaScript function is true of the document.
type Where struct {
	Code string
}

// Kind returns KindWhere.
func (*Where) Kind() Kind { return KindWhere }

func (n *Where) matchDoc(doc bsonx.Doc, st *state) bool { return st.fail(errNotImplemented("$where")) }

// matchElem is never reached: the parser refuses $where within $elemMatch.
func (n *Where) matchElem(bsonx.Value, *state) bool { return false }

func (n *Where) serialize(b *bsonx.Builder) { b.String("$where", n.Code) }

func parseWhere(p *parser, _ string, v bsonx.Value, _ level, _ int) (Node, error) {
	return nil, mongoerr.New(mongoerr.BadValue, "$where is not allowed in this context")
}
