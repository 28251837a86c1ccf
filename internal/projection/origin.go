package projection

import "github.com/sheafdb/sheaf/internal/expr"

// Origin tells from where a top-level field of a projected document comes.
type Origin int

// Values of Origin.
const (
	Mixed    Origin = iota // several sources, or unknown
	Kept                   // from the original document, unchanged
	Dropped                // the field is absent
	Computed               // from an expression
)

// Origin returns the origin of a top-level field, and its expression if it is computed.
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
