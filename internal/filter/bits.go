package filter

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var bitsFailure = &failure{
	no: "bitwise operator failed to match", yes: "bitwise operator matched successfully",
	expected: []string{"binData", "decimal", "double", "int", "long"},
}

// BitsOp is the kind of test that a Bits makes.
type BitsOp uint8

// Values of BitsOp: all or any of the bit positions are set or clear.
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

// Bits is $bitsAllSet, $bitsAllClear, $bitsAnySet or $bitsAnyClear on integers and binary data. A
// mask may be as large as a document, and a byte of it contains eight positions. So a large mask is
// kept as bytes and not expanded into positions.
type Bits struct {
	leaf
	Op BitsOp

	// written is the mask as the client wrote it.
	written bsonx.Value
	// list reports that the mask is kept in positions, which is sorted. Otherwise the mask is kept
	// in bytes.
	list      bool
	positions []uint32
	bytes     []byte // the mask without trailing zero bytes

	// mask is the mask for an integer. Bits beyond 63 are compared with the integer's sign bit.
	mask uint64
}

// Kind returns the kind of the test.
func (n *Bits) Kind() Kind { return bitsOps[n.Op].kind }

func (n *Bits) matchDoc(doc bsonx.Doc, st *state) bool { return n.path.match(doc, Elements, n, st) }

func (n *Bits) matchElem(v bsonx.Value, st *state) bool {
	switch v.Type {
	case bsonx.TypeBinary:
		_, data := v.Binary()
		return n.testBinary(data, st)
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

// bitsPart is the number of bytes or positions that are tested between two checks for an interrupt.
const bitsPart = 64 << 10

// testBinary tests the bits of binary data. The first byte contains the least significant bits.
// Bits beyond the end of data count as clear.
func (n *Bits) testBinary(data []byte, st *state) bool {
	wantSet := n.Op == AllSet || n.Op == AnySet
	all := n.Op == AllSet || n.Op == AllClear
	find := n.findMasked
	if n.list {
		find = n.findListed
	}
	found, ended := find(data, wantSet != all, st)
	return !ended && found != all
}

// findListed reports whether the list contains a position whose bit in data is set or, if set is
// false, clear. ended is true if the evaluation was interrupted.
func (n *Bits) findListed(data []byte, set bool, st *state) (found, ended bool) {
	for i, pos := range n.positions {
		if i%bitsPart == 0 && st.stopped(min(len(n.positions)-i, 8*len(data), bitsPart)) {
			return false, true
		}
		if int(pos/8) >= len(data) {
			// This position and all later ones are beyond the data, so they are clear.
			return !set, false
		}
		if (data[pos/8]>>(pos%8)&1 == 1) == set {
			return true, false
		}
	}
	return false, false
}

// findMasked is findListed for a mask that is kept as bytes.
func (n *Bits) findMasked(data []byte, set bool, st *state) (found, ended bool) {
	mask := n.bytes
	if len(mask) > len(data) {
		if !set {
			// The last byte of the mask contains a bit beyond the end of the data. Such a bit is
			// clear.
			return true, false
		}
		mask = mask[:len(data)]
	}
	var flip byte
	if !set {
		flip = 0xff
	}
	for start := 0; start < len(mask); start += bitsPart {
		part := mask[start:min(start+bitsPart, len(mask))]
		if st.stopped(len(part)) {
			return false, true
		}
		for i, m := range part {
			if m&(data[start+i]^flip) != 0 {
				return true, false
			}
		}
	}
	return false, false
}

func (n *Bits) serialize(b *serializer) { serializeLeaf(b, n) }

const (
	// bitBytes estimates the size of a position in a serialised filter in bytes, with its array
	// index.
	bitBytes = 1 + 9 + 4
	// positionBytes is the memory of a position in a growing list, in bytes.
	positionBytes = 8
	// compactMask is the size in bytes up to which a mask is always serialised as positions.
	compactMask = 64
)

// serializeOperator writes the mask as a list of positions. The positions of a large mask take a
// hundred times its size. So in a compact serialisation, which nobody reads, a large mask is
// written as the client wrote it.
func (n *Bits) serializeOperator(b *serializer) {
	name := n.Op.String()
	if b.compact && len(n.bytes) > compactMask {
		b.Value(name, n.written)
		return
	}
	b.StartArrayField(name)
	if b.reserve(bitBytes * max(8*len(n.bytes), len(n.positions))) {
		for pos := range n.all() {
			if b.full() || b.stopped(interrupt.Step) {
				break
			}
			b.Elem(bsonx.Int32(int32(pos)))
		}
	}
	b.End()
}

// all yields the positions of the mask in their original order.
func (n *Bits) all() iter.Seq[uint32] {
	if n.list {
		return func(yield func(uint32) bool) {
			for it := n.written.Doc().Iter(); it.Next(); {
				if pos, _ := it.Value().AsExactInt64(); !yield(uint32(pos)) {
					return
				}
			}
		}
	}
	return func(yield func(uint32) bool) {
		for i, m := range n.bytes {
			for ; m != 0; m &= m - 1 {
				if !yield(uint32(8*i + bits.TrailingZeros8(m))) {
					return
				}
			}
		}
	}
}

func parseBits(op BitsOp) fieldParser {
	return func(p *parser, f field) (Node, error) {
		n := &Bits{leaf: newLeaf(f.path), Op: op, written: f.value}
		return n, n.parse(p, f)
	}
}

func (n *Bits) parse(p *parser, f field) error {
	switch {
	case f.value.Type == bsonx.TypeArray:
		n.list = true
		return n.parseList(p, f)
	case f.value.Type.IsNumber():
		mask, err := nonNegativeInt(f.name, f.value)
		n.setBytes(binary.LittleEndian.AppendUint64(nil, uint64(mask)))
		return err
	case f.value.Type == bsonx.TypeBinary:
		_, data := f.value.Binary()
		n.setBytes(data)
		return p.meter.Did(len(data), p.running)
	default:
		return mongoerr.New(mongoerr.BadValue, "%s takes an Array, a number, or a BinData but received: %s",
			f.path, f.element())
	}
}

// setBytes sets the mask from bytes. It keeps the slice.
func (n *Bits) setBytes(data []byte) {
	n.bytes = bytes.TrimRight(data, "\x00")
	var low [8]byte
	copy(low[:], n.bytes)
	n.mask = binary.LittleEndian.Uint64(low[:])
	if len(n.bytes) > len(low) {
		n.mask |= 1 << 63
	}
}

func (n *Bits) parseList(p *parser, f field) error {
	for it := f.value.Doc().Iter(); it.Next(); {
		pos, err := nonNegativeInt32("bit position", string(it.Key()), it.Value())
		if err != nil {
			return err
		}
		if err := p.meter.Did(4*interrupt.Step, p.running); err != nil {
			return err
		}
		if err := p.hold(positionBytes); err != nil {
			return err
		}
		n.positions = append(n.positions, uint32(pos))
		n.mask |= 1 << min(pos, 63)
	}
	return interrupt.SortUnstable(n.positions, interrupt.Step, cmp.Compare, &p.meter, p.running)
}
