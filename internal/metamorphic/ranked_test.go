package metamorphic

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ranked is a read whose rows are sorted by a number: their distance, or how well they match. It
// needs an index. The plain variant reads without indexes, so the test computes its answer itself.
type ranked struct {
	op    bson.D
	rest  bson.D // further conditions that a row must fulfil
	limit int    // 0 for no limit
	// rank returns the number by which rows are sorted, ascending. It reports false if the document
	// does not match.
	rank func(bson.D) (float64, bool)
	// shown is the field in which the server returns the rank multiplied by sign. It is "" if there
	// is no such field.
	shown string
	// sign is -1 if the server returns a score, which is higher for better rows. Otherwise it is 1.
	sign float64
	// unordered means that the rows may come in any order.
	unordered bool
	// refused is the expected error code if the read cannot have a plan.
	refused string
}

// rankedOf returns the read for a command, or nil for any other command.
func rankedOf(ctx context.Context, v *variant, op bson.D) (*ranked, error) {
	switch {
	case op[0].Key != "find" && op[0].Key != "aggregate":
		return nil, nil
	case isNear(op):
		return newNear(op), nil
	case isSearch(op):
		return newSearch(ctx, v, op)
	}
	return nil, nil
}

// rankedRow is a row of the answer, with its rank.
type rankedRow struct {
	rank float64
	id   string
}

func (r *ranked) answer(ctx context.Context, v *variant) (string, error) {
	if v.scans && r.refused != "" {
		return r.refused, nil
	}
	op := r.op
	if v.scans {
		op = bson.D{{"find", collName}, {"filter", r.rest}, hintNatural}
	}
	docs, err := cursor(ctx, v, op)
	if err != nil {
		return refusal(err)
	}
	var rows []rankedRow
	for _, raw := range docs {
		row, ok, err := r.row(v, raw)
		if err != nil {
			return "", err
		}
		if ok {
			rows = append(rows, row)
		}
	}
	if v.scans || r.unordered {
		slices.SortStableFunc(rows,
			func(a, b rankedRow) int { return int(math.Copysign(1, coarse(a.rank)-coarse(b.rank))) })
	}
	if r.limit > 0 && len(rows) > r.limit {
		rows = rows[:r.limit]
	}
	return printRows(rows, r.limit), nil
}

func (r *ranked) row(v *variant, raw bson.Raw) (row rankedRow, ok bool, err error) {
	var doc bson.D
	if err := bson.Unmarshal(raw, &doc); err != nil {
		return row, false, err
	}
	row.id = raw.Lookup("_id").String()
	if row.rank, ok = r.rank(doc); v.scans {
		return row, ok, nil
	}
	if !ok {
		return row, false, fmt.Errorf("not a row: %s", raw)
	}
	if r.shown != "" {
		row.rank = raw.Lookup(r.shown).Double() * r.sign
	}
	return row, true, nil
}

// coarse removes the digits of a rank that depend on the computation. No likely number is near the
// rounding borders.
func coarse(rank float64) float64 { return math.Floor(rank*1000 + 0.123456) }

// printRows prints rows, and sorts rows with the same rank. If the limit cuts the rows of the last
// rank, any of them are right.
func printRows(rows []rankedRow, limit int) string {
	var out strings.Builder
	for begin := 0; begin < len(rows); {
		end := begin
		var same []string
		for ; end < len(rows) && coarse(rows[end].rank) == coarse(rows[begin].rank); end++ {
			same = append(same, rows[end].id)
		}
		slices.Sort(same)
		if end == limit {
			same = []string{fmt.Sprint(len(same), " of them")}
		}
		fmt.Fprintln(&out, coarse(rows[begin].rank), same)
		begin = end
	}
	return out.String()
}

var hintNatural = bson.E{"hint", bson.D{{"$natural", 1}}}

// lookup returns the value of a field, or nil.
func lookup(d bson.D, key string) any {
	for _, e := range d {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// document returns the value of a field if it is a document, and otherwise nil.
func document(d bson.D, key string) bson.D {
	out, _ := lookup(d, key).(bson.D)
	return out
}

func float(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// reached calls do for the values at a path, through arrays of documents. If a value is an array,
// it also calls do for the elements.
func reached(v any, path []string, do func(any)) {
	switch v := v.(type) {
	case bson.A:
		if len(path) == 0 {
			do(v)
		}
		for _, e := range v {
			if nested, ok := e.(bson.A); !ok {
				reached(e, path, do)
			} else if len(path) == 0 {
				do(nested)
			}
		}
	case bson.D:
		if len(path) == 0 {
			do(v)
			return
		}
		for _, e := range v {
			if e.Key == path[0] {
				reached(e.Value, path[1:], do)
			}
		}
	default:
		if len(path) == 0 {
			do(v)
		}
	}
}
