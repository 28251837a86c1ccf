package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/text"
)

// textMatch passes what a search asks for beyond one of its terms.
type textMatch struct {
	in     node
	index  *indexinfo.Index
	spec   *text.Spec
	query  *text.Query
	prefix bsonx.Doc
}

func (*textMatch) stage() string          { return "TEXT_MATCH" }
func (n *textMatch) input(i int) node     { return sole(n.in, i) }
func (*textMatch) residual() filter.Node  { return nil }
func (*textMatch) reads() reading         { return reading{} }
func (*textMatch) sign(dst []byte) []byte { return dst }

func (n *textMatch) build(b builder) exec.Node {
	return exec.NewTextMatch(b.env, b.build(n.in), n.spec, n.query)
}

func (*textMatch) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *textMatch) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	w.doc("indexPrefix", n.prefix)
	w.b.String("indexName", n.index.Name)
	w.doc("parsedTextQuery", parsedText(n.query))
	w.b.Int32("textIndexVersion", int32(n.spec.Version()))
	if run != nil {
		w.b.Int32("docsRejected", int32(run.Stats().DocsRejected))
	}
	w.input(n, run)
}

// parsedText shows what a search looks for.
func parsedText(q *text.Query) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, list := range []struct {
		name  string
		words []string
	}{{"terms", q.Terms}, {"negatedTerms", q.Negated}, {"phrases", q.Phrases}, {"negatedPhrases", q.NegatedPhrases}} {
		b.StartArrayField(list.name)
		for _, word := range list.words {
			b.Elem(bsonx.String(word))
		}
		b.End()
	}
	b.End()
	return b.Bytes()
}
