package keystring

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Decode decodes the first value of key and appends its payload to buf. It returns the value, the
// length n of its encoding, and the extended buffer. Without type bits the value gets its default
// type. The elements of arrays get the names "0", "1" and so on. Decode returns an error if the key
// or the bits are malformed.
func Decode(buf, key []byte, desc bool, bits *TypeBitsReader) (v bsonx.Value, n int, out []byte, err error) {
	d := decoder{scanner: scanner{b: key}, out: buf}
	if bits != nil {
		d.bits = *bits // a copy keeps the caller's reader off the heap
	}
	if desc {
		d.mask = 0xFF
	}
	start := len(buf)
	t, err := d.value(0)
	if err != nil {
		return bsonx.Value{}, 0, buf, err
	}
	if bits != nil {
		*bits = d.bits
	}
	return bsonx.Value{Type: t, Data: d.out[start:len(d.out):len(d.out)]}, d.pos, d.out, nil
}

// decoder appends the BSON payloads of the decoded values to out.
type decoder struct {
	scanner
	bits TypeBitsReader
	out  []byte
}

func (d *decoder) value(depth int) (bsonx.Type, error) {
	t, err := d.byte()
	if err != nil {
		return 0, err
	}
	return d.payload(t, depth)
}

func (d *decoder) payload(t byte, depth int) (bsonx.Type, error) {
	switch t {
	case typeMinKey:
		return bsonx.TypeMinKey, nil
	case typeUndefined:
		return bsonx.TypeUndefined, nil
	case typeNull:
		return bsonx.TypeNull, nil
	case typeMaxKey:
		return bsonx.TypeMaxKey, nil
	case typeFalse, typeTrue:
		d.out = append(d.out, t-typeFalse)
		return bsonx.TypeBool, nil
	case typeString:
		return d.stringOrSymbol()
	case typeObject:
		return bsonx.TypeDocument, d.object(depth)
	case typeArray:
		return bsonx.TypeArray, d.array(depth)
	case typeBinary:
		return bsonx.TypeBinary, d.binary()
	case typeObjectID:
		return bsonx.TypeObjectID, d.raw(12)
	case typeDate:
		return bsonx.TypeDate, d.word(1 << 63)
	case typeTimestamp:
		return bsonx.TypeTimestamp, d.word(0)
	case typeRegex:
		return bsonx.TypeRegex, d.regex()
	case typeDBPointer:
		return bsonx.TypeDBPointer, d.dbPointer()
	case typeCode:
		return bsonx.TypeCode, d.text()
	case typeCodeScope:
		return bsonx.TypeCodeWithScope, d.codeWithScope(depth)
	default:
		if t < typeNaN || t > typePosLarge {
			return 0, errType
		}
		return d.number(t)
	}
}

// raw copies n bytes.
func (d *decoder) raw(n int) error {
	from, to := d.pos, len(d.out)
	if err := d.skip(n); err != nil {
		return err
	}
	d.out = append(d.out, d.b[from:from+n]...)
	if d.mask != 0 {
		invert(d.out[to:])
	}
	return nil
}

func (d *decoder) word(flip uint64) error {
	from := d.pos
	if err := d.skip(8); err != nil {
		return err
	}
	w := binary.BigEndian.Uint64(d.b[from:]) ^ flip
	if d.mask != 0 {
		w = ^w
	}
	d.out = binary.LittleEndian.AppendUint64(d.out, w)
	return nil
}

func (d *decoder) stringOrSymbol() (bsonx.Type, error) {
	kind, err := d.bits.next()
	if err != nil {
		return 0, err
	}
	switch kind {
	case kindDefault:
		return bsonx.TypeString, d.text()
	case kindSymbol:
		return bsonx.TypeSymbol, d.text()
	default:
		return 0, errTypeBits
	}
}

// text unescapes a string, and adds BSON's length and terminator.
func (d *decoder) text() error {
	raw, err := d.terminated()
	if err != nil {
		return err
	}
	start := len(d.out)
	d.out = append(d.out, 0, 0, 0, 0)
	for i := 0; i < len(raw); i++ {
		c := raw[i] ^ d.mask
		if c == 1 {
			i++
			if i == len(raw) || raw[i]^d.mask > 2 {
				return errValue
			}
			c = raw[i] ^ d.mask - 1
		}
		d.out = append(d.out, c)
	}
	d.out = append(d.out, 0)
	binary.LittleEndian.PutUint32(d.out[start:], uint32(len(d.out)-start-4))
	return nil
}

// cstring copies a terminated name, which has no escapes, together with its terminator.
func (d *decoder) cstring() error {
	raw, err := d.terminated()
	if err != nil {
		return err
	}
	start := len(d.out)
	d.out = append(d.out, raw...)
	if d.mask != 0 {
		invert(d.out[start:])
	}
	d.out = append(d.out, 0)
	return nil
}

func (d *decoder) regex() error {
	if err := d.cstring(); err != nil {
		return err
	}
	return d.cstring()
}

func (d *decoder) binary() error {
	n, err := d.length()
	if err != nil {
		return err
	}
	d.out = binary.LittleEndian.AppendUint32(d.out, uint32(n))
	return d.raw(n + 1)
}

func (d *decoder) dbPointer() error {
	n, err := d.length()
	if err != nil {
		return err
	}
	start := len(d.out)
	if err := d.raw(n); err != nil {
		return err
	}
	if n < 4+1+12 || int(binary.LittleEndian.Uint32(d.out[start:])) != n-4-12 || d.out[len(d.out)-13] != 0 {
		return errValue
	}
	return nil
}

func (d *decoder) codeWithScope(depth int) error {
	start := len(d.out)
	d.out = append(d.out, 0, 0, 0, 0)
	if err := d.text(); err != nil {
		return err
	}
	if err := d.object(depth); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(d.out[start:], uint32(len(d.out)-start))
	return nil
}

func (d *decoder) array(depth int) error {
	if depth >= maxDepth {
		return errDepth
	}
	start := len(d.out)
	d.out = append(d.out, 0, 0, 0, 0)
	for i := int64(0); ; i++ {
		t, err := d.byte()
		if err != nil {
			return err
		}
		if t == 0 {
			d.end(start)
			return nil
		}
		at := len(d.out)
		d.out = append(d.out, 0)
		d.out = append(strconv.AppendInt(d.out, i, 10), 0)
		typ, err := d.payload(t, depth+1)
		if err != nil {
			return err
		}
		d.out[at] = byte(typ)
	}
}

func (d *decoder) object(depth int) error {
	if depth >= maxDepth {
		return errDepth
	}
	start := len(d.out)
	d.out = append(d.out, 0, 0, 0, 0)
	for {
		t, err := d.byte()
		if err != nil {
			return err
		}
		if t == 0 {
			d.end(start)
			return nil
		}
		at := len(d.out)
		d.out = append(d.out, 0)
		if err := d.cstring(); err != nil {
			return err
		}
		if t == classNumber || t == classBool {
			if t, err = d.byte(); err != nil {
				return err
			}
		}
		typ, err := d.payload(t, depth+1)
		if err != nil {
			return err
		}
		d.out[at] = byte(typ)
	}
}

func (d *decoder) end(start int) {
	d.out = append(d.out, 0)
	binary.LittleEndian.PutUint32(d.out[start:], uint32(len(d.out)-start))
}

// maxPairs is the number of bytes for the 34 digits of a decimal.
const maxPairs = 17

// magnitude is the absolute value of a number as it is encoded.
type magnitude struct {
	whole  uint64 // the whole part of a number from 1 to 2^63
	word   uint64 // 63 bits from the groups: of the fraction, or of a double
	exact  bool   // the groups are exact, so no digits follow
	double bool   // word is a double
	exp    int    // exponent of the digits, if the number is not encoded as whole part and fraction
	digits [2 * maxPairs]byte
	n      int // number of digits
}

func (d *decoder) number(t byte) (bsonx.Type, error) {
	kind, err := d.bits.next()
	if err != nil {
		return 0, err
	}
	var m magnitude
	neg := t < typeZero
	switch t {
	case typeNaN:
		m.word, m.exact, m.double, neg = quietNaN, true, true, false
	case typeZero:
		m.exact = true
	default:
		saved := d.mask
		if neg {
			d.mask = ^d.mask
			t = 2*typeZero - t
		}
		err = d.magnitude(t, &m)
		d.mask = saved
		if err != nil {
			return 0, err
		}
	}
	return d.typed(&m, neg, kind)
}

func (d *decoder) magnitude(t byte, m *magnitude) error {
	m.double = t == typePosSmall || t == typePosLarge
	m.exact = true
	if !m.double {
		for range t - typePosWhole {
			c, err := d.byte()
			if err != nil {
				return err
			}
			m.whole = m.whole<<8 | uint64(c)
		}
		frac := m.whole & 1
		if m.whole >>= 1; frac == 0 {
			return nil
		}
	}
	more := true
	for i := 0; more && i < groups; i++ {
		c, err := d.byte()
		if err != nil {
			return err
		}
		m.word |= uint64(c>>1) << (56 - 7*i)
		more = c&1 != 0
	}
	if m.exact = !more; m.exact {
		return nil
	}
	return d.digits(m)
}

func (d *decoder) digits(m *magnitude) error {
	if m.double {
		from := d.pos
		if err := d.skip(2); err != nil {
			return err
		}
		exp := binary.BigEndian.Uint16(d.b[from:])
		if d.mask != 0 {
			exp = ^exp
		}
		m.exp = int(exp) - exponentBias
	}
	raw, err := d.terminated()
	if err != nil {
		return err
	}
	if len(raw) > maxPairs {
		return errValue
	}
	for _, c := range raw {
		pair := c ^ d.mask - 1
		if pair > 99 {
			return errValue
		}
		m.digits[m.n], m.digits[m.n+1] = '0'+pair/10, '0'+pair%10
		m.n += 2
	}
	return nil
}

// typed appends the number with the type that the type bits give.
func (d *decoder) typed(m *magnitude, neg bool, kind typeKind) (bsonx.Type, error) {
	switch kind {
	case kindDefault:
		return d.defaultType(m, neg)
	case kindInt64:
		i, ok := m.int64(neg)
		if !ok {
			return 0, errTypeBits
		}
		d.out = binary.LittleEndian.AppendUint64(d.out, uint64(i))
		return bsonx.TypeInt64, nil
	case kindDouble:
		if !m.exact {
			return 0, errTypeBits
		}
		d.double(m.float64(neg))
		return bsonx.TypeDouble, nil
	case kindNegZero:
		d.double(math.Copysign(0, -1))
		return bsonx.TypeDouble, nil
	case kindDecimal:
		return bsonx.TypeDecimal128, d.decimal(m, neg)
	case kindRawDouble:
		return bsonx.TypeDouble, d.rawBits(8)
	case kindRawDecimal:
		return bsonx.TypeDecimal128, d.rawBits(16)
	default:
		return 0, errTypeBits
	}
}

func (d *decoder) defaultType(m *magnitude, neg bool) (bsonx.Type, error) {
	if i, ok := m.int64(neg); ok {
		if i == int64(int32(i)) {
			d.out = binary.LittleEndian.AppendUint32(d.out, uint32(i))
			return bsonx.TypeInt32, nil
		}
		d.out = binary.LittleEndian.AppendUint64(d.out, uint64(i))
		return bsonx.TypeInt64, nil
	}
	// Without type bits a decimal becomes a double, truncated toward zero.
	d.double(m.float64(neg))
	return bsonx.TypeDouble, nil
}

func (d *decoder) double(f float64) {
	d.out = binary.LittleEndian.AppendUint64(d.out, math.Float64bits(f))
}

func (d *decoder) rawBits(n int) error {
	b, err := d.bits.take(n)
	d.out = append(d.out, b...)
	return err
}

// decimal formats the number as text and parses the text as a decimal. The text is exact, and the
// type bits give the exponent.
func (d *decoder) decimal(m *magnitude, neg bool) error {
	b, err := d.bits.take(2)
	if err != nil {
		return err
	}
	exp := int(binary.BigEndian.Uint16(b))
	if exp&(1<<15) != 0 {
		neg = true
		exp &^= 1 << 15
	}
	v, err := bsonx.ParseDecimal(string(m.appendText(make([]byte, 0, 96))))
	if err != nil {
		return errValue
	}
	dec, ok := v.Decimal().WithExp(exp + bsonx.MinDecimalExp)
	if !ok {
		return errTypeBits
	}
	dec.Neg = neg
	hi, lo := dec.Encode()
	d.out = binary.LittleEndian.AppendUint64(d.out, lo)
	d.out = binary.LittleEndian.AppendUint64(d.out, hi)
	return nil
}

// int64 returns the number if it is a whole number in the range of int64.
func (m *magnitude) int64(neg bool) (int64, bool) {
	switch {
	case !m.exact:
		return 0, false
	case m.double:
		return math.MinInt64, neg && math.Float64frombits(m.word) == 1<<63
	case m.word != 0 || m.whole >= 1<<63:
		return 0, false
	case neg:
		return -int64(m.whole), true
	default:
		return int64(m.whole), true
	}
}

func (m *magnitude) float64(neg bool) float64 {
	f := float64(m.whole) + float64(m.word)/(1<<fracBits)
	if m.double {
		f = math.Float64frombits(m.word)
	}
	if neg {
		return -f
	}
	return f
}

// appendText appends the exact number as text. If a double equals a decimal, the double and its
// fraction have at most 34 digits.
func (m *magnitude) appendText(dst []byte) []byte {
	switch {
	case m.double && m.exact:
		return strconv.AppendFloat(dst, math.Float64frombits(m.word), 'e', 33, 64)
	case m.double:
		dst = append(dst, "0."...)
		dst = append(dst, m.digits[:m.n]...)
		dst = append(dst, '0', 'e')
		return strconv.AppendInt(dst, int64(m.exp), 10)
	}
	dst = strconv.AppendUint(dst, m.whole, 10)
	if m.exact {
		frac := strconv.AppendFloat(nil, float64(m.word)/(1<<fracBits), 'f', 34, 64)
		return append(dst, frac[1:]...)
	}
	dst = append(dst, '.')
	return append(dst, m.digits[:m.n]...)
}
