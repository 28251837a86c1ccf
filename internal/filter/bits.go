package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// BitsOp is the test of a Bits.
type BitsOp uint8

// The tests: all or any of the positions are set or clear.
const (
	AllSet BitsOp = iota
	AllClear
	AnySet
	AnyClear
)

var bitsOps = [...]struct {
	name string
	kind Kind
}{
	AllSet: {"$bitsAllSet", KindBitsAllSet}, AllClear: {"$bitsAllClear", KindBitsAllClear},
	AnySet: {"$bitsAnySet", KindBitsAnySet}, AnyClear: {"$bitsAnyClear", KindBitsAnyClear},
}

// String returns the operator's name.
func (op BitsOp) String() string { return bitsOps[op].name }

// Bits is $bitsAllSet, $bitsAllClear, $bitsAnySet or $bitsAnyClear on integers and binary data.
type Bits struct {
	leaf
	Op BitsOp
	// Positions are the bits to test, 0 being the least significant.
	Positions []uint32

	mask uint64 // Positions on an integer, whose sign goes on beyond bit 63
}

// NewBits returns a bit test.
func NewBits(path string, op BitsOp, positions []uint32) *Bits {
	n := &Bits{leaf: newLeaf(path), Op: op, Positions: positions}
	for _, pos := range n.Positions {
		n.mask |= 1 << min(pos, 63)
	}
	return n
}

// Kind returns the kind of the test.
func (n *Bits) Kind() Kind { return bitsOps[n.Op].kind }

func (n *Bits) matchDoc(doc bsonx.Doc, st *state) bool { return n.path.match(doc, Elements, n, st) }

func (n *Bits) matchElem(v bsonx.Value, st *state) bool {
	if v.Type == bsonx.TypeBinary && st.stopped(len(n.Positions)) {
		return false
	}
	switch v.Type {
	case bsonx.TypeBinary:
		_, data := v.Binary()
		return n.testBytes(data)
	case bsonx.TypeDouble, bsonx.TypeDecimal128:
		i, ok := v.AsExactInt64()
		return ok && n.testInt(uint64(i))
	case bsonx.TypeInt32, bsonx.TypeInt64:
		i, _ := v.AsInt64()
		return n.testInt(uint64(i))
	default:
		return false
	}
}

func (n *Bits) testInt(i uint64) bool {
	switch n.Op {
	case AllSet:
		return i&n.mask == n.mask
	case AllClear:
		return i&n.mask == 0
	case AnySet:
		return i&n.mask != 0
	default:
		return i&n.mask != n.mask
	}
}

// testBytes tests bits of binary data: the first byte has the least significant ones, those beyond the end are clear.
func (n *Bits) testBytes(data []byte) bool {
	wantSet := n.Op == AllSet || n.Op == AnySet
	all := n.Op == AllSet || n.Op == AllClear
	for _, pos := range n.Positions {
		set := int(pos/8) < len(data) && data[pos/8]>>(pos%8)&1 == 1
		if (set == wantSet) != all {
			return !all
		}
	}
	return all
}

func (n *Bits) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *Bits) serializeOperator(b *serializer) {
	b.StartArrayField(n.Op.String())
	for _, pos := range n.Positions {
		b.Elem(bsonx.Int32(int32(pos)))
	}
	b.End()
}

func parseBits(op BitsOp) fieldParser {
	return func(_ *parser, f field) (Node, error) {
		positions, err := bitPositions(f)
		if err != nil {
			return nil, err
		}
		return NewBits(f.path, op, positions), nil
	}
}

func bitPositions(f field) ([]uint32, error) {
	switch {
	case f.value.Type == bsonx.TypeArray:
		return bitPositionList(f)
	case f.value.Type.IsNumber():
		return bitPositionsOfNumber(f)
	case f.value.Type == bsonx.TypeBinary:
		_, data := f.value.Binary()
		var positions []uint32
		for i := range len(data) * 8 {
			if data[i/8]>>(i%8)&1 == 1 {
				positions = append(positions, uint32(i))
			}
		}
		return positions, nil
	default:
		return nil, mongoerr.New(mongoerr.BadValue, "%s takes an Array, a number, or a BinData but received: %s",
			f.path, f.element())
	}
}

func bitPositionList(f field) ([]uint32, error) {
	var positions []uint32
	for it := f.value.Doc().Iter(); it.Next(); {
		pos, err := nonNegativeInt32("bit position", string(it.Key()), it.Value())
		if err != nil {
			return nil, err
		}
		positions = append(positions, uint32(pos))
	}
	return positions, nil
}

func bitPositionsOfNumber(f field) ([]uint32, error) {
	mask, err := nonNegativeInt(f.name, f.value)
	if err != nil {
		return nil, err
	}
	var positions []uint32
	for i := range 63 {
		if mask>>i&1 == 1 {
			positions = append(positions, uint32(i))
		}
	}
	return positions, nil
}
