package projection

import "github.com/sheafdb/sheaf/internal/expr"

// Origin is where a top-level field of a projected document comes from.
type Origin int

// The origins of a field.
const (
	Mixed    Origin = iota // from several places, or not known
	Kept                   // it is the document's own
	Dropped                // there is none
	Computed               // an expression computes it
)

// Origin returns where a top-level field comes from, and its expression where it is computed.
func (p *Projection) Origin(name string) (Origin, expr.Expr) {
	if p.identity {
		return Kept, nil
	}
	if len(p.after) > 0 {
		return Mixed, nil
	}
	for _, f := range p.root.fields {
		if f.name != name {
			continue
		}
		switch f.action {
		case keep:
			return Kept, nil
		case drop:
			return Dropped, nil
		case compute:
			return Computed, f.value
		default:
			return Mixed, nil
		}
	}
	if p.kind == inclusion {
		return Dropped, nil
	}
	return Kept, nil
}
