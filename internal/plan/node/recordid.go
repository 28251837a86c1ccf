package node

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
)

// RecordID adds the field $recordId to documents.
type RecordID struct{ In Node }

func (*RecordID) stage() string          { return "" }
func (n *RecordID) input(i int) Node     { return sole(n.In, i) }
func (*RecordID) residual() filter.Node  { return nil }
func (*RecordID) reads() reading         { return reading{} }
func (*RecordID) sign(dst []byte) []byte { return dst }

func (n *RecordID) build(b Builder) exec.Node {
	return exec.NewProject(b.Env, b.Build(n.In), recordIDs(b.Q.Coll))
}

// recordIDs returns a projector that adds $recordId: the key by which the records are clustered,
// which is the _id or the insertion sequence.
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

func (n *RecordID) again(b Builder, in exec.Node) exec.Node {
	return exec.NewProject(b.Env, n.In.again(b, in), recordIDs(b.Q.Coll))
}

// describe writes only the input: MongoDB adds $recordId without a stage.
func (n *RecordID) describe(w *Writer, run exec.Node) { w.Node(n.In, InputOf(run, 0)) }
