package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/text"
)

// TextMatch yields the rows that match the parts of a text search that the index terms do not
// decide, such as phrases and negations.
type TextMatch struct {
	In     Node
	Index  *indexinfo.Index
	Spec   *text.Spec
	Query  *text.Query
	Prefix bsonx.Doc
}

func (*TextMatch) stage() string          { return "TEXT_MATCH" }
func (n *TextMatch) input(i int) Node     { return sole(n.In, i) }
func (*TextMatch) residual() filter.Node  { return nil }
func (*TextMatch) reads() reading         { return reading{} }
func (*TextMatch) sign(dst []byte) []byte { return dst }

func (n *TextMatch) build(b Builder) exec.Node {
	return exec.NewTextMatch(b.Env, b.Build(n.In), n.Spec, n.Query)
}

func (*TextMatch) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *TextMatch) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	w.Doc("indexPrefix", n.Prefix)
	w.B.String("indexName", n.Index.Name)
	w.Doc("parsedTextQuery", parsedText(n.Query))
	w.B.Int32("textIndexVersion", int32(n.Spec.Version()))
	if run != nil {
		w.B.Int32("docsRejected", int32(run.Stats().DocsRejected))
	}
	w.input(n, run)
}

// parsedText returns the parsed search as explain prints it.
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
