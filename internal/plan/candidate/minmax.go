package candidate

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// minMax returns the plan of a query with the options min and max, which scans the range [min, max)
// of the hinted index.
func (e *enumerator) minMax() (*node.Solution, error) {
	const caused = "error processing query: planner returned error :: caused by :: "
	if e.cq.Hint.Natural != 0 || e.cq.Natural != 0 {
		return nil, mongoerr.New(mongoerr.NoQueryExecutionPlans, caused+"min and max are incompatible with $natural")
	}
	x := e.cq.Hint.Index
	if x == nil {
		return nil, mongoerr.New(mongoerr.NoQueryExecutionPlans,
			caused+"When using min()/max() a hint of which index to use must be provided")
	}
	low, high := e.cq.Asked.Min, e.cq.Asked.Max
	if low != nil && high != nil && !sameFields(low, high) {
		return nil, mongoerr.New(51176, "min and max must have the same field names")
	}
	for _, key := range []bsonx.Doc{low, high} {
		if key != nil && (x.IsWildcard() || !sameFields(key, x.Key) || !x.Collation.Same(e.cq.Asked.Collation) &&
			hasText(key)) {
			if x.Clustered {
				return nil, mongoerr.New(6137400,
					caused+"The clustered index is not compatible with the values provided for min/max")
			}
			return nil, mongoerr.New(51174, caused+"The index chosen is not compatible with min/max")
		}
	}
	scan := node.NewScan(x)
	if err := scan.BindMinMax(low, high, &e.cq.Running); err != nil {
		return nil, err
	}
	if low != nil && high != nil {
		b := scan.Keys
		if string(b.Lower) >= string(b.Upper) {
			return nil, mongoerr.New(51175, caused+"The value provided for min() does not come before the value "+
				"provided for max() in the hinted index")
		}
	}
	ordered := false
	if backward, ok := e.ordering().provides(x, scan.Bounds); ok && len(e.cq.Sort) > 0 && !x.IsMultikey() {
		scan.Backward, ordered = backward, true
	}
	if x.Clustered && scan.Backward {
		return nil, mongoerr.New(6137402,
			"min() / max() are only supported for forward collection scans on clustered collections")
	}
	return e.finisher().above(scan, e.cq.Whole.Conjuncts, ordered), nil
}

// hasText reports whether a collation affects a value of the key.
func hasText(key bsonx.Doc) bool {
	for it := key.Iter(); it.Next(); {
		if collation.Concerns(it.Value()) {
			return true
		}
	}
	return false
}

// sameFields reports whether two documents have the same field names in the same order.
func sameFields(a, b bsonx.Doc) bool {
	ia, ib := a.Iter(), b.Iter()
	for {
		na, nb := ia.Next(), ib.Next()
		if na != nb || !na {
			return na == nb
		}
		if string(ia.Key()) != string(ib.Key()) {
			return false
		}
	}
}
