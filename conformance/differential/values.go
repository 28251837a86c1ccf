package main

import (
	"math"
	"math/big"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// generator generates random documents and commands. Two generators with the same random source
// generate the same documents and commands.
type generator struct {
	rnd        *rand.Rand
	scanB      bool
	ids        []any // the _id values of the generated documents
	predicates []predicate
	families   families
	calls      []operator
	stages     []stageMaker
	scope      []string // the variables that an expression may use
	indexed    bool     // whether the collections have indexes, which determine the order of the documents found
	repeated   bool     // whether several documents may have the same _id at this point of the pipeline
}

func newGenerator(rnd *rand.Rand, scanB bool, f families) *generator {
	g := &generator{rnd: rnd, scanB: scanB, predicates: predicateTable(), families: f}
	for _, o := range operatorTable() {
		if f.has(o.family) {
			g.calls = append(g.calls, o)
		}
	}
	for _, s := range stageTable() {
		if f.has(s.family) {
			g.stages = append(g.stages, s)
		}
	}
	return g
}

// chance returns true in one of n calls, on average.
func (g *generator) chance(n int) bool { return g.rnd.IntN(n) == 0 }

func pick[T any](g *generator, list []T) T { return list[g.rnd.IntN(len(list))] }

// idPrefix is the beginning of all generated ObjectIds. It distinguishes them from ObjectIds that a
// server generates.
var idPrefix = [8]byte{0x5f, 0xd1, 0xff, 0xff, 0xd1, 0xff, 0xff, 0x00}

func generatorID(n byte) primitive.ObjectID {
	var id primitive.ObjectID
	copy(id[:], idPrefix[:])
	id[11] = n
	return id
}

func isGeneratorID(id primitive.ObjectID) bool { return [8]byte(id[:8]) == idPrefix }

func decimal(text string) primitive.Decimal128 {
	d, err := primitive.ParseDecimal128(text)
	if err != nil {
		panic(err) // cannot happen: s is a constant in this file
	}
	return d
}

// plainNumbers are small numbers that are generated often, so that equal numbers of different types
// occur.
var plainNumbers = []any{
	int32(0), int32(1), int32(2), int32(3), int32(5), int32(-1), int64(1), int64(2), int64(5), 1.0, 2.0, 1.5, -1.0, 0.0,
	decimal("1"), decimal("2"), decimal("1.5"),
}

// edgeNumbers are the limits of the number types, and values at which the types overlap.
var edgeNumbers = []any{
	math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0.1, -2.5, 1e300, 5e-324, math.MaxFloat64,
	float64(1 << 53), float64(1<<53) + 2, int64(1<<53 + 1), int64(math.MaxInt64), int64(math.MinInt64),
	float64(1 << 63), -float64(1 << 63),
	int32(math.MaxInt32), int32(math.MinInt32), int64(math.MaxInt32) + 1, 2147483648.5,
	decimal("0.1"), decimal("1.0"), decimal("1.00"), decimal("0"), decimal("-0"), decimal("NaN"),
	decimal("Infinity"), decimal("-Infinity"),
	decimal("9223372036854775807"), decimal("9223372036854775808"), decimal("9007199254740993"),
	decimal("1E+6144"), decimal("1E-6176"),
	decimal("9.999999999999999999999999999999999E+6144"),
	decimal("0.1000000000000000055511151231257827"), decimal("1E+3"),
}

var texts = []string{
	"", "a", "b", "ab", "abc", "A", "B", "aB", "é", "a.b", "0", "1",
	"x y", "abcabc", "a\nb", "日本", "z",
}

// rareScalars have types that applications seldom store.
var rareScalars = []any{
	primitive.MinKey{},
	primitive.MaxKey{},
	primitive.Undefined{},
	primitive.Symbol("a"), primitive.JavaScript("f"),
	primitive.CodeWithScope{Code: "f", Scope: bson.D{{"x", int32(1)}}},
	primitive.DBPointer{DB: "d.c", Pointer: generatorID(1)},
	primitive.Regex{Pattern: "a", Options: ""},
	primitive.Regex{Pattern: "^a", Options: "i"},
}

var commonScalars = []any{
	nil, true, false, primitive.DateTime(0), primitive.DateTime(-1), primitive.DateTime(1700000000000),
	primitive.Timestamp{T: 1, I: 1},
	primitive.Timestamp{T: 1, I: 2},
	generatorID(1), generatorID(2),
	primitive.Binary{Subtype: 0, Data: []byte{}},
	primitive.Binary{Subtype: 0, Data: []byte{1, 2}},
	primitive.Binary{Subtype: 5, Data: make([]byte, 16)},
	primitive.Binary{Subtype: 4, Data: []byte("0123456789abcdef")},
}

var fieldNames = []string{"a", "b", "c", "x", "y", "0", "1"}

// scalar returns a value that is neither an array nor a document.
func (g *generator) scalar() any {
	switch n := g.rnd.IntN(100); {
	case n < 45:
		return pick(g, plainNumbers)
	case n < 55:
		return pick(g, edgeNumbers)
	case n < 78:
		return pick(g, texts)
	case n < 96:
		return pick(g, commonScalars)
	}
	return pick(g, rareScalars)
}

// value returns any value, nested up to depth levels.
func (g *generator) value(depth int) any {
	n := g.rnd.IntN(10)
	switch {
	case depth > 0 && n < 2:
		return g.array(depth - 1)
	case depth > 0 && n < 4:
		return g.subdocument(depth - 1)
	}
	return g.scalar()
}

func (g *generator) array(depth int) bson.A {
	a := bson.A{}
	objects := g.chance(3) // whether the array has only documents, which $elemMatch and dotted paths need
	for range g.rnd.IntN(5) {
		if objects && depth > 0 {
			a = append(a, g.subdocument(depth-1))
		} else {
			a = append(a, g.value(depth))
		}
	}
	return a
}

func (g *generator) subdocument(depth int) bson.D {
	d := bson.D{}
	for _, name := range g.names(g.rnd.IntN(4)) {
		d = append(d, bson.E{name, g.value(depth)})
	}
	return d
}

// names returns up to n different field names in random order.
func (g *generator) names(n int) []string {
	order := g.rnd.Perm(len(fieldNames))
	names := make([]string, 0, n)
	for _, i := range order[:min(n, len(order))] {
		names = append(names, fieldNames[i])
	}
	return names
}

// document returns a document to insert. It has a new _id.
func (g *generator) document() bson.D {
	id := g.freshID()
	g.ids = append(g.ids, id)
	d := bson.D{{"_id", id}}
	for _, name := range []string{"a", "b", "c"} {
		if !g.chance(6) {
			d = append(d, bson.E{name, g.value(3)})
		}
	}
	return d
}

func (g *generator) freshID() any {
	n := len(g.ids)
	switch g.rnd.IntN(8) {
	case 0:
		return int64(n)
	case 1:
		return float64(n)
	case 2:
		return "id" + string(rune('a'+n%26)) + string(rune('a'+n/26))
	case 3:
		return bson.D{{"n", int32(n)}}
	case 4:
		return generatorID(byte(n))
	}
	return int32(n)
}

// anyID returns the _id of an existing document. In few calls, no document has that _id.
func (g *generator) anyID() any {
	if len(g.ids) == 0 || g.chance(10) {
		return int32(1000 + g.rnd.IntN(10))
	}
	return pick(g, g.ids)
}

// path returns a dotted path that the documents are likely to have.
func (g *generator) path() string {
	p := pick(g, []string{"a", "a", "a", "b", "b", "c"})
	for g.chance(3) {
		p += "." + pick(g, fieldNames)
	}
	return p
}

// numberText formats a number. Equal numbers of different types have the same text.
func numberText(v any) (string, bool) {
	switch v := v.(type) {
	case int32:
		return new(big.Rat).SetInt64(int64(v)).RatString(), true
	case int64:
		return new(big.Rat).SetInt64(v).RatString(), true
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN", true
		case math.IsInf(v, 1):
			return "Infinity", true
		case math.IsInf(v, -1):
			return "-Infinity", true
		}
		return new(big.Rat).SetFloat64(v).RatString(), true
	case primitive.Decimal128:
		n, exp, err := v.BigInt()
		if err != nil { // NaN and infinities
			return v.String(), true
		}
		r := new(big.Rat).SetInt(n)
		scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp, -exp))), nil))
		if exp < 0 {
			return r.Quo(r, scale).RatString(), true
		}
		return r.Mul(r, scale).RatString(), true
	}
	return "", false
}
