package filter

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var modFailure = &failure{
	no: "$mod did not evaluate to expected remainder", yes: "$mod did evaluate to expected remainder",
	expected: []string{"decimal", "double", "int", "long"},
}

// Mod is $mod: the value, a number truncated to an integer, has the given Remainder when divided by
// Divisor.
type Mod struct {
	leaf
	Divisor, Remainder int64
}

// Kind returns KindMod.
func (*Mod) Kind() Kind { return KindMod }

func (n *Mod) matchDoc(doc bsonx.Doc, st *state) bool { return n.path.match(doc, Elements, n, st) }

func (n *Mod) matchElem(v bsonx.Value, _ *state) bool {
	i, ok := v.AsInt64()
	if !ok {
		return false
	}
	// This avoids an overflow, because the smallest integer has no positive counterpart.
	if n.Divisor == -1 {
		return n.Remainder == 0
	}
	return i%n.Divisor == n.Remainder
}

func (n *Mod) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *Mod) serializeOperator(b *serializer) {
	b.StartArrayField("$mod")
	b.Elem(bsonx.Int64(n.Divisor))
	b.Elem(bsonx.Int64(n.Remainder))
	b.End()
}

func parseMod(_ *parser, f field) (Node, error) {
	if f.value.Type != bsonx.TypeArray {
		return nil, mongoerr.New(mongoerr.BadValue, "malformed mod, needs to be an array")
	}
	args := f.value.Doc().Values()
	if len(args) < 1 {
		return nil, mongoerr.New(mongoerr.BadValue, "malformed mod, not enough elements")
	}
	if !args[0].Type.IsNumber() {
		return nil, mongoerr.New(mongoerr.BadValue, "malformed mod, divisor not a number")
	}
	divisor, err := modOperand(args[0], "divisor")
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, mongoerr.New(mongoerr.BadValue, "malformed mod, not enough elements")
	}
	if !args[1].Type.IsNumber() {
		return nil, mongoerr.New(mongoerr.BadValue, "malformed mod, remainder not a number")
	}
	if len(args) > 2 {
		return nil, mongoerr.New(mongoerr.BadValue, "malformed mod, too many elements")
	}
	remainder, err := modOperand(args[1], "remainder")
	if err != nil {
		return nil, err
	}
	if divisor == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "divisor cannot be 0")
	}
	return &Mod{newLeaf(f.path), divisor, remainder}, nil
}

func modOperand(v bsonx.Value, what string) (int64, error) {
	i, ok := v.AsInt64()
	if ok {
		return i, nil
	}
	if f, _ := v.AsFloat64(); math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, mongoerr.New(mongoerr.BadValue, "malformed mod, %s value is invalid :: caused by :: "+
			"Unable to coerce NaN/Inf to integral type", what)
	}
	return 0, mongoerr.New(mongoerr.BadValue, "malformed mod, %s value is invalid :: caused by :: Out of bounds "+
		"coercing to integral value", what)
}
