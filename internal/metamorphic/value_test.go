package metamorphic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// gen makes random operations. In its documents a may be anything, arr is an array, b and c are
// scalars, o is a document of scalars, and n is a number.
type gen struct {
	*rand.Rand
	family    *family
	nextID    int32
	nextIndex int
}

func decimal(s string) bson.Decimal128 {
	d, err := bson.ParseDecimal128(s)
	if err != nil {
		panic(err)
	}
	return d
}

var scalars = []any{
	nil, int32(0), int32(1), int32(2), int32(3), int64(2), 2.0, 2.5, -1.5, math.Copysign(0, -1),
	math.NaN(), math.Inf(1), int64(1) << 53,
	float64(1 << 53), decimal("2"), decimal("2.50"), decimal("NaN"), "", "a", "ab", "abc",
	"b", "A", "á", "a b", true, false,
	bson.MinKey{},
	bson.MaxKey{},
	bson.DateTime(5), bson.DateTime(-5),
	bson.Timestamp{T: 1, I: 2},
	bson.ObjectID{1, 2, 3},
	bson.Binary{Data: []byte("a")},
	bson.D{},
	bson.D{{"x", int32(1)}},
	bson.D{{"x", int32(2)}, {"y", int32(1)}},
}

func pick[T any](g *gen, from []T) T { return from[g.IntN(len(from))] }

// chance is true once in n times.
func (g *gen) chance(n int) bool { return g.IntN(n) == 0 }

func (g *gen) scalar() any { return pick(g, scalars) }

// small returns a scalar from a small set, so that values are often equal.
func (g *gen) small() any {
	if g.chance(4) {
		return g.scalar()
	}
	return pick(g, []any{nil, int32(0), int32(1), int32(2), int32(3), 2.5, "a", "ab", "b", "Ab"})
}

func (g *gen) value(depth int) any {
	switch n := g.IntN(10); {
	case n < 6 || depth == 0:
		return g.small()
	case n < 8:
		out := bson.A{}
		for range g.IntN(4) {
			out = append(out, g.value(depth-1))
		}
		return out
	default:
		out := bson.D{}
		if !g.chance(3) {
			out = append(out, bson.E{"x", g.value(depth - 1)})
		}
		if !g.chance(3) {
			// y is not an array, because an index on both fields refuses two arrays.
			out = append(out, bson.E{"y", g.small()})
		}
		return out
	}
}

func (g *gen) array() bson.A {
	out := bson.A{}
	for range g.IntN(4) {
		out = append(out, g.small())
	}
	return out
}

// id returns an _id that a document may have.
func (g *gen) id() any {
	n := g.Int32N(max(1, g.nextID) + 2)
	return idOf(n)
}

// idOf returns the n-th _id. Consecutive _ids have different types, so that the order of the
// records differs from the order of insertion.
func idOf(n int32) any {
	switch n % 5 {
	case 3:
		return fmt.Sprintf("id%03d", n)
	case 4:
		return float64(n) + 0.5
	default:
		return n
	}
}

func (g *gen) newDoc() bson.D {
	d := bson.D{{"_id", idOf(g.nextID)}}
	g.nextID++
	return append(d, g.fields()...)
}

// fields returns the fields of a document besides _id.
func (g *gen) fields() bson.D {
	var d bson.D
	add := func(name string, v any) {
		if !g.chance(6) {
			d = append(d, bson.E{name, v})
		}
	}
	add("a", g.value(2))
	add("b", g.small())
	add("c", g.small())
	add("o", bson.D{{"p", g.small()}, {"q", g.small()}})
	add("arr", g.array())
	add("n", pick(g, []any{int32(1), int64(2), 2.5, decimal("3")}))
	if g.family.fields != nil {
		d = append(d, g.family.fields(g)...)
	}
	g.Shuffle(len(d), func(i, j int) { d[i], d[j] = d[j], d[i] })
	return append(d, bson.E{"pad", strings.Repeat("x", g.IntN(120))})
}
