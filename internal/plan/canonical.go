package plan

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

// canonical is a query in the form that planning works on.
type canonical struct {
	q       *query.Query
	filter  *filter.Filter // normalised; nil: everything
	root    filter.Node    // nil: everything
	sort    []sortField
	natural int // direction of {$natural: ±1}, or 0
	hint    indexinfo.Hint
	indexes []*indexinfo.Index
	// collatedRegex says that regular expressions may read indexes with a collation.
	collatedRegex bool
	purpose       purpose
	near          *filter.GeoNear // taken out of whole; nil: none
	text          *textSearch     // nil: no $text

	running interrupt.Running // the operation that the query is planned for
	meter   interrupt.Meter
	ended   error // why the operation ended while the query was planned

	whole  conjunction   // root
	shared bounds.Shared // of the candidates
}

// purpose is what the rows of a plan are for.
type purpose int

const (
	purposeFind purpose = iota
	purposeTargets
	purposeCount
	purposeDistinct
)

// sortField is a component of a sort pattern.
type sortField struct {
	path string
	desc bool
}

// read checks a query against its collection, which exists, and the indexes that may answer it.
func (cq *canonical) read(ctx context.Context, indexes []*indexinfo.Index) error {
	cq.running.Set(ctx)
	cq.whole.cq = cq
	cq.readFilter()
	cq.absorb()
	if err := cq.running.Err(); err != nil {
		return err
	}
	if err := cq.readSort(); err != nil {
		return err
	}
	cq.indexes = indexes
	if err := cq.countPredicates(ctx); err != nil {
		return err
	}
	return cq.readText()
}

func (cq *canonical) readFilter() {
	if cq.q.Filter == nil {
		return
	}
	cq.filter = cq.q.Filter.Normalize()
	cq.root = cq.filter.Root
	if query.IsTrue(cq.root) {
		cq.root = nil
	}
}

// stopped counts work, and reports whether the operation has ended. What was planned is of no use then.
func (cq *canonical) stopped(work int) bool {
	if cq.ended == nil {
		cq.ended = cq.meter.Did(work, &cq.running)
	}
	return cq.ended != nil
}

func (cq *canonical) readSort() error {
	for it := cq.q.Sort.Iter(); it.Next(); {
		key, v := string(it.Key()), it.Value()
		if key == "$natural" {
			if cq.q.Sort.Len() > 1 {
				return mongoerr.New(mongoerr.BadValue, "$natural sort cannot be set to a value other than -1 or 1.")
			}
			dir, err := query.Direction("sort", v)
			cq.natural = dir
			return err
		}
		if meta := query.MetaPath(v); meta != "" {
			cq.sort = append(cq.sort, sortField{meta, true})
			continue
		}
		f, ok := v.AsFloat64()
		if !ok {
			return mongoerr.New(mongoerr.BadValue, "Illegal key in $sort specification: %s: %s", key, bsonx.FormatShell(v))
		}
		cq.sort = append(cq.sort, sortField{key, f < 0})
	}
	return nil
}

// collated reports whether the query compares strings by a collation.
func (cq *canonical) collated() bool { return cq.q.Collation != nil }

// shape returns a key that queries of the same shape share, while the query is planned. If the
// operation ends it is of no use.
func (cq *canonical) shape() []byte {
	key, err := cq.shapeWithin(cq.running.Context())
	if cq.ended == nil {
		cq.ended = err
	}
	return key
}

// shapeOf returns the shape of a query that is not planned, for purposeFind.
func shapeOf(q *query.Query) ([]byte, error) {
	cq := &canonical{q: q}
	cq.readFilter()
	if err := cq.readSort(); err != nil {
		return nil, err
	}
	return cq.shape(), nil
}

// shapeWithin is shape for any operation. It fails where that ends.
func (cq *canonical) shapeWithin(ctx context.Context) ([]byte, error) {
	out := make([]byte, 0, usualKeySize)
	if cq.root != nil {
		var err error
		if out, err = cq.filter.AppendShapeKeyWithin(ctx, out); err != nil {
			return nil, err
		}
	}
	out = append(out, 0)
	out = append(out, cq.q.Sort...)
	out = append(out, cq.q.Collation.Spec()...)
	out = append(out, 0)
	if cq.q.Projection != nil {
		paths, simple := cq.q.Projection.Fields()
		out = appendQuoted(append(strconv.AppendBool(out, simple), '['), paths)
		out = append(out, ']')
	}
	return append(out, byte(cq.purpose)), nil
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

// mayUse reports whether a hint, if there is one, is of that index.
func (cq *canonical) mayUse(x *indexinfo.Index) bool {
	return cq.hint.Index == nil || cq.hint.Index == x
}

// holds reports whether an index has an entry of every document that the conjunction matches, as far as its partial
// filter is concerned. A hint overrides it, and then the result may be incomplete, as in MongoDB.
func (cq *canonical) holds(x *indexinfo.Index, c *conjunction) bool {
	if !x.IsPartial || cq.hint.Index == x {
		return true
	}
	n := c.node()
	return x.Partial != nil && n != nil && filter.SubsetOf(n, x.Partial)
}

// isRootedOr reports whether the whole filter is one $or, whose branches MongoDB plans one by one.
func (cq *canonical) isRootedOr() bool {
	_, ok := cq.root.(*filter.Or)
	return ok && !cq.hint.Provided && cq.natural == 0
}
