package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// TextOr adds up the scores of a search's terms: each input scans the entries of one.
type TextOr struct {
	In      []Node
	Index   *indexinfo.Index
	Terms   []string
	Behind  int // how many fields of the index stand behind the text
	ScoreAt []int
	// Ranked is true where the sort above wants the highest scores first, and limit as many of
	// them; 0 is all.
	Ranked bool
	Limit  int64
}

// maxBest is up to how many rows a search looks for the best of instead of reading all entries.
const maxBest = 1000

func (*TextOr) stage() string          { return "TEXT_OR" }
func (n *TextOr) input(i int) Node     { return nth(n.In, i) }
func (*TextOr) residual() filter.Node  { return nil }
func (*TextOr) reads() reading         { return reading{} }
func (*TextOr) sign(dst []byte) []byte { return dst }

// Build reads the entries backward where the best are enough, which come first then. Forward is
// faster, where the order does not matter.
func (n *TextOr) build(b Builder) exec.Node {
	o := exec.TextOrOptions{Coll: b.Q.Coll, ScoreAt: n.ScoreAt, Ranked: n.Ranked, Scores: n.scores}
	if n.Ranked && n.Limit > 0 && n.Limit <= maxBest && len(n.In) <= exec.BestTerms {
		o.Best = int(n.Limit)
	}
	in := make([]exec.Node, len(n.In))
	for i, scan := range n.In {
		turned := *scan.(*IndexScan)
		turned.Backward = o.Best > 0
		in[i] = turned.build(b)
	}
	fields := n.Index.Fields
	for _, f := range fields[len(fields)-n.Behind:] {
		o.Behind = append(o.Behind, f.Desc)
	}
	return exec.NewTextOr(b.Env, in, o)
}

// scores appends the scores that the terms of the search have in a document.
func (n *TextOr) scores(dst []float64, doc bsonx.Doc) ([]float64, error) {
	return n.Index.Stored.Generator().(*index.TextGen).Scores(dst, n.Terms, doc)
}

// SearchBelow returns what adds up the scores of a sort's rows, if nothing but fetches and the
// search lies between them.
func SearchBelow(n Node) *TextOr {
	for {
		if or, ok := n.(*TextOr); ok {
			return or
		}
		if f, ok := n.(*Fetch); ok {
			n = f.In
			continue
		}
		m, ok := n.(*TextMatch)
		if !ok {
			return nil
		}
		n = m.In
	}
}

func (*TextOr) again(b Builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *TextOr) describe(w *Writer, run exec.Node) {
	w.begin(n, run)
	if run != nil {
		w.B.Int32("docsExamined", int32(run.Stats().DocsExamined))
	}
	if len(n.In) > 1 {
		w.inputs(n, run)
		return
	}
	w.input(n, run)
}
