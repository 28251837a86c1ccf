package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// textOr adds up the scores of a search's terms: each input scans the entries of one.
type textOr struct {
	in      []node
	index   *indexinfo.Index
	terms   []string
	behind  int // how many fields of the index stand behind the text
	scoreAt []int
	// ranked is true where the sort above wants the highest scores first, and limit as many of them; 0 is all.
	ranked bool
	limit  int64
}

// maxBest is up to how many rows a search looks for the best of instead of reading all entries.
const maxBest = 1000

func (*textOr) stage() string          { return "TEXT_OR" }
func (n *textOr) input(i int) node     { return nth(n.in, i) }
func (*textOr) residual() filter.Node  { return nil }
func (*textOr) reads() reading         { return reading{} }
func (*textOr) sign(dst []byte) []byte { return dst }

// build reads the entries backward where the best are enough, which come first then. Forward is faster, where the order
// does not matter.
func (n *textOr) build(b builder) exec.Node {
	o := exec.TextOrOptions{Coll: b.q.Coll, ScoreAt: n.scoreAt, Ranked: n.ranked, Scores: n.scores}
	if n.ranked && n.limit > 0 && n.limit <= maxBest && len(n.in) <= exec.BestTerms {
		o.Best = int(n.limit)
	}
	in := make([]exec.Node, len(n.in))
	for i, scan := range n.in {
		turned := *scan.(*indexScan)
		turned.backward = o.Best > 0
		in[i] = turned.build(b)
	}
	fields := n.index.Fields
	for _, f := range fields[len(fields)-n.behind:] {
		o.Behind = append(o.Behind, f.Desc)
	}
	return exec.NewTextOr(b.env, in, o)
}

// scores appends the scores that the terms of the search have in a document.
func (n *textOr) scores(dst []float64, doc bsonx.Doc) ([]float64, error) {
	return n.index.Stored.Generator().(*index.TextGen).Scores(dst, n.terms, doc)
}

// searchBelow returns what adds up the scores of a sort's rows, if nothing but fetches and the search lies between them.
func searchBelow(n node) *textOr {
	for {
		if or, ok := n.(*textOr); ok {
			return or
		}
		if f, ok := n.(*fetch); ok {
			n = f.in
			continue
		}
		m, ok := n.(*textMatch)
		if !ok {
			return nil
		}
		n = m.in
	}
}

func (*textOr) again(b builder, in exec.Node) exec.Node { return b.fetchAgain(in) }

func (n *textOr) describe(w *stageWriter, run exec.Node) {
	w.begin(n, run)
	if run != nil {
		w.b.Int32("docsExamined", int32(run.Stats().DocsExamined))
	}
	if len(n.in) > 1 {
		w.inputs(n, run)
		return
	}
	w.input(n, run)
}
