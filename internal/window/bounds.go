package window

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// bound is one end of a window, relative to the current document.
type bound struct {
	unbounded bool
	// current is true for the bound "current", the current document. The bound 0 of a range also
	// includes other documents with the same sort value.
	current  bool
	offset   int         // for a document window: the number of documents after the current one
	distance bsonx.Value // for a range window: the difference of the sort values
}

// frame contains the bounds of a window, either in documents or as a range of the sort value.
type frame struct {
	lower, upper bound
	byRange      bool
	unit         TimeUnit // the unit of distances, if the sort value is a date
}

func wholePartition() frame {
	return frame{lower: bound{unbounded: true}, upper: bound{unbounded: true}}
}

func (b *frame) whole() bool { return b.lower.unbounded && b.upper.unbounded }

// parseFrame compiles the field "window" of a function.
func parseFrame(v bsonx.Value, order *Order) (frame, error) {
	if v.Type != bsonx.TypeDocument {
		return frame{}, mongoerr.New(mongoerr.FailedToParse, "'window' field must be an object")
	}
	var documents, ranged, unit bsonx.Value
	for it := v.Doc().Iter(); it.Next(); {
		switch string(it.Key()) {
		case "documents":
			documents = it.Value()
		case "range":
			ranged = it.Value()
		case "unit":
			unit = it.Value()
		default:
			return frame{}, mongoerr.New(mongoerr.FailedToParse, "'window' field can only contain 'documents' or 'range' or 'unit', found '%s'", it.Key())
		}
	}
	switch {
	case !documents.IsMissing() && !ranged.IsMissing():
		return frame{}, mongoerr.New(mongoerr.FailedToParse, "Window bounds can specify either 'documents' or 'unit', not both.")
	case ranged.IsMissing() && !unit.IsMissing():
		return frame{}, mongoerr.New(mongoerr.FailedToParse, "Window bounds can only specify 'unit' with range-based bounds.")
	case !documents.IsMissing():
		return parseDocumentBounds(documents, order)
	case !ranged.IsMissing():
		return parseRangeBounds(ranged, unit, order)
	}
	return wholePartition(), nil
}

func parseDocumentBounds(v bsonx.Value, order *Order) (frame, error) {
	b, err := parseBounds("documents", v, func(v bsonx.Value) (bound, error) {
		n, ok := v.AsExactInt64()
		if !v.Type.IsNumber() || !ok || n < math.MinInt32 || n > math.MaxInt32 {
			return bound{}, mongoerr.New(mongoerr.FailedToParse, "Numeric document-based bounds must be an integer")
		}
		return bound{offset: int(n), distance: v}, nil
	})
	if err != nil {
		return b, err
	}
	if !b.whole() && order.Fields == 0 {
		return b, mongoerr.New(5339901, "Document-based bounds require a sortBy")
	}
	return b, nil
}

func parseRangeBounds(v, unit bsonx.Value, order *Order) (frame, error) {
	u := NoUnit
	if !unit.IsMissing() {
		if unit.Type != bsonx.TypeString {
			return frame{}, mongoerr.New(mongoerr.FailedToParse, "'unit' must be a string")
		}
		var err error
		if u, err = ParseTimeUnit(unit.Str()); err != nil {
			return frame{}, err
		}
	}
	b, err := parseBounds("range", v, func(v bsonx.Value) (bound, error) {
		if !v.Type.IsNumber() {
			return bound{}, mongoerr.New(mongoerr.FailedToParse, "Range-based bounds expression must be a number")
		}
		if _, ok := v.AsExactInt64(); u != NoUnit && !ok {
			return bound{}, mongoerr.New(mongoerr.FailedToParse, "With 'unit', range-based bounds must be an integer")
		}
		return bound{distance: v.Clone()}, nil
	})
	if err != nil {
		return b, err
	}
	if !order.single() {
		return b, mongoerr.New(5339902, "Range-based bounds require sortBy a single field")
	}
	if order.Key.Path == "" || order.Key.IsMeta() {
		return b, mongoerr.New(8947400, "Range-based bounds require a non-expression sortBy")
	}
	if order.Key.Desc {
		return b, mongoerr.New(8947401, "Range-based bounds require an ascending sortBy")
	}
	b.byRange, b.unit = true, u
	return b, nil
}

// parseBounds compiles a pair of bounds. The function number compiles a bound that is neither
// "current" nor "unbounded".
func parseBounds(name string, v bsonx.Value, number func(bsonx.Value) (bound, error)) (frame, error) {
	if v.Type != bsonx.TypeArray || v.Doc().Len() != 2 {
		return frame{}, mongoerr.New(mongoerr.FailedToParse,
			"Window bounds must be a 2-element array: %s: %s", name, bsonx.FormatShell(v))
	}
	var pair [2]bound
	for i, v := range v.Doc().Values() {
		var err error
		switch {
		case v.Type == bsonx.TypeString && v.Str() == "unbounded":
			pair[i] = bound{unbounded: true}
		case v.Type == bsonx.TypeString && v.Str() == "current":
			pair[i] = bound{current: true, distance: bsonx.Int32(0)}
		case v.Type == bsonx.TypeString:
			err = mongoerr.New(mongoerr.FailedToParse, "Window bounds must be 'unbounded', 'current', or a number.")
		default:
			pair[i], err = number(v)
		}
		if err != nil {
			return frame{}, err
		}
	}
	lower, upper := pair[0], pair[1]
	if !lower.unbounded && !upper.unbounded && bsonx.CompareValues(lower.distance, upper.distance) > 0 {
		return frame{}, mongoerr.New(5339900, "Lower bound must not exceed upper bound: [%s, %s]",
			numeric.Format(lower.distance), numeric.Format(upper.distance))
	}
	return frame{lower: lower, upper: upper}, nil
}

// at returns the sort value at a bound, for a current document with the sort value base.
func (b *frame) at(bound bound, base bsonx.Value) (bsonx.Value, error) {
	if b.unit != NoUnit {
		n, _ := bound.distance.AsInt64()
		return b.unit.Plus(base, n)
	}
	return numeric.Add(base, bound.distance)
}

// check returns an error if the sort value base does not fit a range window with this unit.
func (b *frame) check(base bsonx.Value) error {
	switch {
	case b.unit != NoUnit && base.Type != bsonx.TypeDate:
		return mongoerr.New(5429513, "Invalid range: Expected the sortBy field to be a Date, but it was %s", base.Type)
	case b.unit == NoUnit && base.Type == bsonx.TypeDate:
		return mongoerr.New(5429413, "Invalid range: For windows that involve date or time ranges, a unit must be provided.")
	case b.unit == NoUnit && !base.Type.IsNumber():
		return mongoerr.New(5429414, "Invalid range: Expected the sortBy field to be a number, but it was %s", base.Type)
	}
	return nil
}
