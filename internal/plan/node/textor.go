package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// TextOr adds up the scores of a search's terms. Each input scans the entries of one term.
type TextOr struct {
	In      []Node
	Index   *indexinfo.Index
	Terms   []string
	Behind  int // number of index fields after the text
	ScoreAt []int
	// Ranked is true if the sort above needs the highest scores first. Limit is the number of rows
	// it needs; 0 means all.
	Ranked bool
	Limit  int64
}

// maxBest is the largest limit for which a search looks for the best rows instead of reading all
// entries.
const maxBest = 1000

func (*TextOr) stage() string          { return "TEXT_OR" }
func (n *TextOr) input(i int) Node     { return nth(n.In, i) }
func (*TextOr) residual() filter.Node  { return nil }
func (*TextOr) reads() reading         { return reading{} }
func (*TextOr) sign(dst []byte) []byte { return dst }

// build makes the inputs scan backward, which yields the highest scores first, if only the best
// rows are needed. Otherwise they scan forward, which is faster.
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

// scores appends the scores of the search's terms in a document.
func (n *TextOr) scores(dst []float64, doc bsonx.Doc) ([]float64, error) {
	return n.Index.Stored.Generator().(*index.TextGen).Scores(dst, n.Terms, doc)
}

// SearchBelow returns the TextOr that computes the scores for a sort. It returns nil if there are
// nodes other than fetches and text matches between n and the TextOr.
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
