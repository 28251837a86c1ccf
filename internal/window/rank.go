package window

import (
	"bytes"
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func rankFunctions() []definition {
	return []definition{
		{Name: "$rank", Parse: parseRank(rank{}), Form: writtenForm, Windowless: true},
		{Name: "$denseRank", Parse: parseRank(rank{dense: true}), Form: writtenForm, Windowless: true},
		{Name: "$documentNumber", Parse: parseRank(rank{unequal: true}), Form: writtenForm, Windowless: true},
	}
}

// parseRank returns the Parse of $rank, $denseRank or $documentNumber. empty is the state of the
// function before the first document.
func parseRank(empty rank) parseFunc {
	return func(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
		return def.ofRank(spec, order, vars, empty)
	}
}

func (d *definition) ofRank(spec bsonx.Doc, order *Order, vars *expr.Vars, empty rank) (*Function, error) {
	name := d.Name
	arg, _, err := d.arguments(spec)
	switch {
	case err != nil || spec.Len() > 1:
		return nil, mongoerr.New(5371601, "Rank style window functions take no other arguments")
	case !order.single():
		return nil, mongoerr.New(5371602, "%s must be specified with a top level sortBy expression with exactly one element", name)
	case arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty():
		return nil, mongoerr.New(5371603, "%s must be specified with '{}' as the value", name)
	}
	reads := order.By
	if path := order.Key.Path; path != "" && !order.Key.IsMeta() {
		// The rank reads the whole top-level field, because a projection to the path would merge
		// array elements that the sort distinguishes.
		if reads, err = expr.Parse(bsonx.String("$"+topField(path)), vars); err != nil {
			return nil, err
		}
	}
	open := func(*expr.Context) (Exec, error) {
		r := empty
		if order.Key.Path != "" { // an empty path is metadata that no document has
			r.keys = index.NewMetaSortGen(index.Pattern{order.Key}, order.Collation)
		}
		return &r, nil
	}
	return &Function{Streams: true, Reads: []expr.Expr{reads}, Open: open}, nil
}

// rank is $rank, $denseRank or $documentNumber. Documents with the same sort key have the same
// rank. The sort key of an array is its smallest or largest element.
type rank struct {
	dense     bool               // the ranks have no gaps after equal documents
	unequal   bool               // each document has its own rank
	keys      *index.MetaSortGen // nil if all documents have the same rank
	last, key []byte
	rank      int64
}

func (r *rank) Kept() int64 { return int64(len(r.key) + len(r.last)) }

func (r *rank) Value(_ context.Context, p Partition, i int) (bsonx.Value, error) {
	if r.unequal {
		return numeric.IntOrLong(int64(i) + 1), nil
	}
	if r.keys != nil {
		doc, err := p.Document(i)
		if err != nil {
			return bsonx.Missing, err
		}
		if r.key, err = r.keys.Append(r.key[:0], doc, p.Meta().SortMeta()); err != nil {
			return bsonx.Missing, err
		}
	}
	if i == 0 || !bytes.Equal(r.key, r.last) {
		r.last = append(r.last[:0], r.key...)
		if r.rank++; !r.dense {
			r.rank = int64(i) + 1
		}
	}
	return numeric.IntOrLong(r.rank), nil
}

// topField returns the first component of a path.
func topField(path string) string {
	name, _, _ := strings.Cut(path, ".")
	return name
}
