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
	Filter  *filter.Filter // normalised; nil: everything
	Root    filter.Node    // nil: everything
	Sort    []SortField
	Natural int // direction of {$natural: ±1}, or 0
	Hint    indexinfo.Hint
	Indexes []*indexinfo.Index
	// CollatedRegex says that regular expressions may read indexes with a collation.
	CollatedRegex bool
	Purpose       Purpose
	Near          *filter.GeoNear // taken out of whole; nil: none
	Text          *Search         // nil: no $text

	Running interrupt.Running // the operation that the query is planned for
	meter   interrupt.Meter
	Ended   error // why the operation ended while the query was planned

	Whole  Conjunction   // root
	Shared bounds.Shared // of the candidates
}

// Purpose is what the rows of a plan are for.
type Purpose int

// The purposes.
const (
	Find Purpose = iota
	Targets
	Count
	Distinct
)

// SortField is a component of a sort pattern.
type SortField struct {
	Path string
	Desc bool
}

// Read checks a query against its collection, which exists, and the indexes that may answer it.
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

// Stopped counts work, and reports whether the operation has ended. What was planned is of no use
// then.
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
			return mongoerr.New(mongoerr.BadValue, "Illegal key in $sort specification: %s: %s", key, bsonx.FormatShell(v))
		}
		cq.Sort = append(cq.Sort, SortField{key, f < 0})
	}
	return nil
}

// Collated reports whether the query compares strings by a collation.
func (cq *Query) Collated() bool { return cq.Asked.Collation != nil }

// Shape returns a key that queries of the same shape share, while the query is planned. If the
// operation ends it is of no use.
func (cq *Query) Shape() []byte {
	key, err := cq.ShapeWithin(cq.Running.Context())
	if cq.Ended == nil {
		cq.Ended = err
	}
	return key
}

// ShapeOf returns the shape of a query that is not planned, for purposeFind.
func ShapeOf(q *query.Query) ([]byte, error) {
	cq := &Query{Asked: q}
	cq.ReadFilter()
	if err := cq.readSort(); err != nil {
		return nil, err
	}
	return cq.Shape(), nil
}

// ShapeWithin is shape for any operation. It fails where that ends.
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

// usualKeySize is room for most keys of the plan cache.
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

// MayUse reports whether a hint, if there is one, is of that index.
func (cq *Query) MayUse(x *indexinfo.Index) bool {
	return cq.Hint.Index == nil || cq.Hint.Index == x
}

// Holds reports whether an index has an entry of every document that the conjunction matches, as
// far as its partial filter is concerned. A hint overrides it, and then the result may be
// incomplete, as in MongoDB.
func (cq *Query) Holds(x *indexinfo.Index, c *Conjunction) bool {
	if !x.IsPartial || cq.Hint.Index == x {
		return true
	}
	n := c.Node()
	return x.Partial != nil && n != nil && filter.SubsetOf(n, x.Partial)
}

// IsRootedOr reports whether the whole filter is one $or, whose branches MongoDB plans one by one.
func (cq *Query) IsRootedOr() bool {
	_, ok := cq.Root.(*filter.Or)
	return ok && !cq.Hint.Provided && cq.Natural == 0
}
