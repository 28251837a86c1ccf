package canonical

import (
	"context"
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// Query is a query in the form that planning works on.
type Query struct {
	Asked   *query.Query
	Filter  *filter.Filter // normalised; nil matches everything
	Root    filter.Node    // root of Filter; nil matches everything
	Sort    []SortField
	Natural int // direction of {$natural: ±1}, or 0
	Hint    indexinfo.Hint
	Indexes []*indexinfo.Index
	// CollatedRegex allows regular expressions to use indexes with a collation.
	CollatedRegex bool
	Purpose       Purpose
	Near          *filter.GeoNear // removed from Whole; may be nil
	Text          *Search         // nil if the filter has no $text

	Running interrupt.Running // the operation that the query is planned for
	meter   interrupt.Meter
	Ended   error // why the operation ended during planning; nil if it did not

	Whole  Conjunction   // the conjuncts of Root
	Shared bounds.Shared // bounds that the candidates share
}

// Purpose says what the rows of a plan are used for.
type Purpose int

// The purposes of plans.
const (
	Find Purpose = iota
	Targets
	Count
	Distinct
)

// SortField is a field of a sort pattern.
type SortField struct {
	Path string
	Desc bool
}

// Read prepares a query for planning and checks it. The collection must exist; indexes are the
// indexes that may answer the query.
func (cq *Query) Read(ctx context.Context, indexes []*indexinfo.Index) error {
	cq.Running.Set(ctx)
	cq.Whole.Query = cq
	cq.ReadFilter()
	cq.absorb()
	if err := cq.Running.Err(); err != nil {
		return err
	}
	if err := cq.readSort(); err != nil {
		return err
	}
	cq.Indexes = indexes
	if err := cq.countPredicates(ctx); err != nil {
		return err
	}
	return cq.readText()
}

// ReadFilter normalises the filter.
func (cq *Query) ReadFilter() {
	if cq.Asked.Filter == nil {
		return
	}
	cq.Filter = cq.Asked.Filter.Normalize()
	cq.Root = cq.Filter.Root
	if query.IsTrue(cq.Root) {
		cq.Root = nil
	}
}

// Stopped counts work, and reports whether the operation has ended. If it has, the results of
// planning so far are useless.
func (cq *Query) Stopped(work int) bool {
	if cq.Ended == nil {
		cq.Ended = cq.meter.Did(work, &cq.Running)
	}
	return cq.Ended != nil
}

func (cq *Query) readSort() error {
	for it := cq.Asked.Sort.Iter(); it.Next(); {
		key, v := string(it.Key()), it.Value()
		if key == "$natural" {
			if cq.Asked.Sort.Len() > 1 {
				return mongoerr.New(mongoerr.BadValue, "$natural sort cannot be set to a value other than -1 or 1.")
			}
			dir, err := query.Direction("sort", v)
			cq.Natural = dir
			return err
		}
		if meta := query.MetaPath(v); meta != "" {
			cq.Sort = append(cq.Sort, SortField{meta, true})
			continue
		}
		f, ok := v.AsFloat64()
		if !ok {
			return mongoerr.New(mongoerr.BadValue,
				"Illegal key in $sort specification: %s: %s", key, bsonx.FormatShell(v))
		}
		cq.Sort = append(cq.Sort, SortField{key, f < 0})
	}
	return nil
}

// Collated reports whether the query compares strings by a collation.
func (cq *Query) Collated() bool { return cq.Asked.Collation != nil }

// Shape returns a key that all queries of the same shape share. It is called during planning. The
// result is useless if the operation has ended.
func (cq *Query) Shape() []byte {
	key, err := cq.ShapeWithin(cq.Running.Context())
	if cq.Ended == nil {
		cq.Ended = err
	}
	return key
}

// ShapeOf returns the shape of a query that is not planned, for the purpose Find.
func ShapeOf(q *query.Query) ([]byte, error) {
	cq := &Query{Asked: q}
	cq.ReadFilter()
	if err := cq.readSort(); err != nil {
		return nil, err
	}
	return cq.Shape(), nil
}

// ShapeWithin is Shape for any operation. It fails if the operation has ended.
func (cq *Query) ShapeWithin(ctx context.Context) ([]byte, error) {
	out := make([]byte, 0, usualKeySize)
	if cq.Root != nil {
		var err error
		if out, err = cq.Filter.AppendShapeKey(ctx, out); err != nil {
			return nil, err
		}
	}
	out = append(out, 0)
	out = append(out, cq.Asked.Sort...)
	out = append(out, cq.Asked.Collation.Spec()...)
	out = append(out, 0)
	if cq.Asked.Projection != nil {
		paths, simple := cq.Asked.Projection.Fields()
		out = appendQuoted(append(strconv.AppendBool(out, simple), '['), paths)
		out = append(out, ']')
	}
	return append(out, byte(cq.Purpose)), nil
}

// usualKeySize is the size in bytes of most keys of the plan cache.
const usualKeySize = 256

func appendQuoted(dst []byte, words []string) []byte {
	for i, w := range words {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendQuote(dst, w)
	}
	return dst
}

// MayUse reports whether the query has no hint of an index, or hints the index x.
func (cq *Query) MayUse(x *indexinfo.Index) bool {
	return cq.Hint.Index == nil || cq.Hint.Index == x
}

// Holds reports whether the partial filter of an index includes every document that the conjunction
// matches. It returns true for a hinted index; the result may then be incomplete, as in MongoDB.
func (cq *Query) Holds(x *indexinfo.Index, c *Conjunction) bool {
	if !x.IsPartial || cq.Hint.Index == x {
		return true
	}
	n := c.Node()
	return x.Partial != nil && n != nil && filter.SubsetOf(n, x.Partial)
}

// IsRootedOr reports whether the whole filter is one $or, whose branches MongoDB plans separately.
func (cq *Query) IsRootedOr() bool {
	_, ok := cq.Root.(*filter.Or)
	return ok && !cq.Hint.Provided && cq.Natural == 0
}
