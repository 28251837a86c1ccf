package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
)

// keyBounds encodes the bounds of a scan; nil where they hold nothing.
func keyBounds(n *indexScan, shared *bounds.Shared) *exec.Bounds {
	if n.min != nil || n.max != nil {
		return n.keys
	}
	for _, ivs := range n.bounds {
		if len(ivs) == 0 {
			return nil
		}
	}
	if b := bounds.Simple(n.bounds, n.index.Fields); b != nil {
		return b
	}
	b := &exec.Bounds{Desc: make([]bool, len(n.bounds)), Fields: make([][]exec.Range, len(n.bounds))}
	for f, ivs := range n.bounds {
		b.Desc[f] = n.index.Fields[f].Desc
		b.Fields[f] = shared.Ranges(ivs, b.Desc[f])
	}
	if n.backward {
		b.Upper = bounds.LastKey(b.Fields)
	} else {
		b.Lower = bounds.FirstKey(b.Fields)
	}
	return b
}

// minMaxBounds encodes the find options min and max: whole keys, [min, max). It fails where the
// operation ends.
func minMaxBounds(n *indexScan, r *interrupt.Running) (*exec.Bounds, error) {
	encode := func(key bsonx.Doc) ([]byte, error) {
		if key == nil {
			return nil, nil
		}
		out := []byte{}
		i := 0
		for it := key.Iter(); it.Next(); i++ {
			v, err := n.index.Collation.Fold(it.Value(), r)
			if err != nil {
				return nil, err
			}
			out = keystring.Append(out, v, n.index.Fields[i].Desc)
		}
		return out, nil
	}
	lower, err := encode(n.min)
	if err != nil {
		return nil, err
	}
	upper, err := encode(n.max)
	return &exec.Bounds{Lower: lower, Upper: upper}, err
}
