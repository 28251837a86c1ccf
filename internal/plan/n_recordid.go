package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
)

// recordID adds $recordId.
type recordID struct{ in node }

func (*recordID) stage() string          { return "" }
func (n *recordID) input(i int) node     { return sole(n.in, i) }
func (*recordID) residual() filter.Node  { return nil }
func (*recordID) reads() reading         { return reading{} }
func (*recordID) sign(dst []byte) []byte { return dst }

func (n *recordID) build(b builder) exec.Node {
	return exec.NewProject(b.env, b.build(n.in), recordIDs(b.q.Coll))
}

// recordIDs adds $recordId: what the records are clustered by, _id or the insertion sequence.
func recordIDs(coll *table.Collection) exec.Projector {
	return func(dst []byte, row *exec.Row) ([]byte, error) {
		id, err := query.RecordIDOf(coll, row)
		if err != nil {
			return nil, err
		}
		out := bsonx.NewBuilder(dst)
		out.StartDoc()
		out.Fields(row.Doc)
		out.Value("$recordId", id)
		out.End()
		return out.Bytes(), nil
	}
}

func (n *recordID) again(b builder, in exec.Node) exec.Node {
	return exec.NewProject(b.env, n.in.again(b, in), recordIDs(b.q.Coll))
}

// describe writes the input alone: MongoDB adds $recordId without a stage.
func (n *recordID) describe(w *stageWriter, run exec.Node) { w.node(n.in, input(run, 0)) }
