package metamorphic

import (
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// odd are values at the limits of their types, and strings with a meaning in some language.
var odd = []any{
	int32(0), int32(-1), int32(math.MaxInt32), int32(math.MinInt32), int64(math.MaxInt64), int64(math.MinInt64),
	int64(1) << 40, math.NaN(), math.Inf(1),
	math.Inf(-1), math.MaxFloat64, 5e-324, 0.5, -0.5, 1e300, decimal("1E+6144"), decimal("-Infinity"),
	decimal("1E-6176"), decimal("9.999999999999999999999999999999999"),
	"", ".", "$", "$$", "$a", "$$ROOT", "$$NOW", "$$this", "$$REMOVE", "$a.b.c", "a.b", "a.$", "a.$[]", "a.$[i].b",
	"a..b", "\x00", "a\x00b", "\xff\xfe", "é", strings.Repeat("x", 1000),
	"_id", "c", "args.c", "args", "c.$cmd", "system.views", "(", "[a-", "(a*)*b", "%Y-%m-%d", "%", "Europe/Berlin",
	"2024-02-30T00:00:00Z", "majority", "number", "int",
	bson.DateTime(math.MaxInt64), bson.DateTime(math.MinInt64),
	bson.Timestamp{},
	bson.Timestamp{T: math.MaxUint32, I: math.MaxUint32},
	bson.Binary{Subtype: 4, Data: make([]byte, 16)},
	bson.Binary{Subtype: 4, Data: []byte{1}},
	bson.Binary{Subtype: 6},
	bson.Binary{Subtype: 2, Data: []byte("abc")},
	bson.Binary{Subtype: 9, Data: []byte{0x27}},
	bson.Regex{Pattern: "(", Options: ""},
	bson.Regex{Pattern: "a", Options: "imsxz"},
	bson.Regex{Pattern: "(a+)+$"},
	bson.D{},
	bson.A{},
	bson.A{nil},
	bson.A{bson.A{}},
	bson.A{bson.D{}},
	bson.D{{"", 1}},
	bson.D{{"$", 1}},
	bson.D{{"a.b", 1}},
	bson.D{{"a", 1}, {"a", 2}},
	bson.D{{"$ref", "c"}, {"$id", 1}},
	bson.JavaScript("function() { return this; }"), bson.JavaScript("("), "function(a) { return a; }",
}

// oddKeys are replacement keys.
var oddKeys = []string{
	"", "a", "b", "_id", "$", "a.b", "$a", "$or", "$eq", "$expr", "$set", "$match", "$in", "x.y.z",
	"0", "unknown", "\xff", "$$ROOT", "$not", "$each", "$elemMatch",
}

// anyValue returns a value of any type.
func (g *commandGen) anyValue(depth int) any {
	switch n := g.IntN(20); {
	case n < 6:
		return pick(g.gen, g.types).Value
	case n < 11:
		return pick(g.gen, odd)
	case n < 14:
		return g.scalar()
	case n == 14:
		return g.value(2)
	case n == 15 && depth > 0:
		return g.operatorOf(depth - 1)
	case n == 16:
		return g.pickLine(*g.corpus.kinds()[pick(g.gen,
			[]string{"filters", "updates", "expressions", "pipelines", "projections", "documents"})])
	case n == 17 && depth > 0:
		out := bson.A{}
		for range g.IntN(4) {
			out = append(out, g.anyValue(depth-1))
		}
		return out
	case n == 18 && depth > 0:
		out := bson.D{}
		for range g.IntN(4) {
			out = append(out, bson.E{g.anyKey(), g.anyValue(depth - 1)})
		}
		return out
	case n == 19 && g.chance(20):
		var deep any = int32(1)
		for range 1 + g.IntN(120) {
			if g.chance(2) {
				deep = bson.D{{"a", deep}}
			} else {
				deep = bson.A{deep}
			}
		}
		return deep
	default:
		return g.small()
	}
}

func (g *commandGen) anyKey() string {
	if g.chance(3) {
		return pick(g.gen, g.operators)
	}
	if g.chance(3) {
		return pick(g.gen, paths)
	}
	return pick(g.gen, oddKeys)
}

// operatorOf returns a document with an operator of any language.
func (g *commandGen) operatorOf(depth int) bson.D {
	var arg any
	switch g.IntN(4) {
	case 0:
		arg = bson.A{}
		for range g.IntN(4) {
			arg = append(arg.(bson.A), g.anyValue(depth))
		}
	case 1:
		arg = pick(g.gen, []string{"$a", "$b", "$arr", "$o.p", "$d", "$s", "$$ROOT"})
	default:
		arg = g.anyValue(depth)
	}
	return bson.D{{pick(g.gen, g.operators), arg}}
}

// mutate returns a copy of a command with another value at a random place.
func (g *commandGen) mutate(cmd bson.D) bson.D {
	at := g.IntN(max(1, values(cmd)))
	out, _ := rewritten(cmd, &at, g.change).(bson.D)
	if len(out) == 0 || out[0].Key != cmd[0].Key {
		return cmd
	}
	return out
}

// values counts the values inside a value, including itself.
func values(v any) int {
	n := 1
	switch v := v.(type) {
	case bson.D:
		for _, e := range v {
			n += values(e.Value)
		}
	case bson.A:
		for _, e := range v {
			n += values(e)
		}
	}
	return n
}

// rewritten returns a copy of v. change is applied to the value with number *at.
func rewritten(v any, at *int, change func(any) any) any {
	*at--
	if *at < 0 {
		*at = math.MaxInt
		return change(v)
	}
	switch v := v.(type) {
	case bson.D:
		v = slices.Clone(v)
		for i := range v {
			v[i].Value = rewritten(v[i].Value, at, change)
		}
		return v
	case bson.A:
		v = slices.Clone(v)
		for i := range v {
			v[i] = rewritten(v[i], at, change)
		}
		return v
	}
	return v
}

// change returns a replacement for a value.
func (g *commandGen) change(v any) any {
	if g.chance(3) {
		return g.anyValue(2)
	}
	switch v := v.(type) {
	case bson.D:
		return g.changeDocument(slices.Clone(v))
	case bson.A:
		return g.changeArray(slices.Clone(v))
	}
	switch g.IntN(5) {
	case 0:
		return bson.A{v}
	case 1:
		return bson.D{{g.anyKey(), v}}
	default:
		return g.anyValue(2)
	}
}

func (g *commandGen) changeDocument(d bson.D) any {
	if len(d) == 0 {
		return bson.D{{g.anyKey(), g.anyValue(2)}}
	}
	i := g.IntN(len(d))
	switch g.IntN(6) {
	case 0:
		return slices.Delete(d, i, i+1)
	case 1:
		return append(d, d[i])
	case 2:
		d[i].Key = g.anyKey()
	case 3:
		return append(d, bson.E{g.anyKey(), g.anyValue(2)})
	case 4:
		d[i].Value = g.anyValue(2)
	default:
		return bson.A{d, d}
	}
	return d
}

func (g *commandGen) changeArray(a bson.A) any {
	if len(a) == 0 {
		return bson.A{g.anyValue(2)}
	}
	i := g.IntN(len(a))
	switch g.IntN(4) {
	case 0:
		return slices.Delete(a, i, i+1)
	case 1:
		return append(a, a[i])
	case 2:
		return append(a, g.anyValue(2))
	default:
		a[i] = g.anyValue(2)
		return a
	}
}
