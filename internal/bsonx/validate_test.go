package bsonx

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// sample returns a document with a field of every type.
func sample() Doc {
	b := NewBuilder(nil)
	b.StartDoc()
	b.Double("double", 1.5)
	b.String("string", "täxt")
	b.StartDocField("doc")
	b.StartArrayField("array")
	b.Elem(Int32(1))
	b.StartDocElem()
	b.End()
	b.End()
	b.End()
	b.Value("bin", Binary(4, []byte{1, 2, 3}))
	b.Value("undefined", Value{Type: TypeUndefined})
	b.Value("oid", ObjectID([12]byte{1, 2, 3}))
	b.Bool("bool", true)
	b.Date("date", 12345)
	b.Null("null")
	b.Value("regex", Regex("^a", "i"))
	b.Value("ptr", Value{TypeDBPointer, append(String("db.c").Data, "123456789012"...)})
	b.Value("code", Value{TypeCode, String("f()").Data})
	b.Value("symbol", Value{TypeSymbol, String("s").Data})
	scope := NewDoc("x", 1)
	code := append([]byte{byte(12 + len(scope)), 0, 0, 0}, String("g()").Data...)
	b.Value("scope", Value{TypeCodeWithScope, append(code, scope...)})
	b.Int32("int", 7)
	b.Value("ts", Timestamp(1, 2))
	b.Int64("long", 8)
	b.Value("dec", Decimal128(0x3040000000000000, 1))
	b.Value("min", MinKey)
	b.Value("max", MaxKey)
	b.End()
	return Doc(b.Bytes())
}

func nested(levels int) Doc {
	d := Empty
	for range levels - 1 {
		d = NewDoc("a", d)
	}
	return d
}

func TestValidateAccepts(t *testing.T) {
	for _, d := range []Doc{Empty, sample(), nested(limits.DocumentDepth)} {
		if err := Validate(d, Limits{}); err != nil {
			t.Errorf("%x: %v", []byte(d), err)
		}
	}
	if err := Validate(nested(3), Limits{MaxDepth: 3}); err != nil {
		t.Error(err)
	}
}

func TestValidateRejects(t *testing.T) {
	for _, tc := range []struct{ name, hex string }{
		{"empty", ""},
		{"short", "050000"},
		{"too short a length", "0400000000"},
		{"negative length", "ffffffff00"},
		{"length beyond the end", "0600000000"},
		{"bytes behind the end", "050000000000"},
		{"no terminator", "0500000001"},
		{"name without end", "0700000010" + "6100"},
		{"int cut short", "0a00000010" + "6100" + "010000"},
		{"unknown type", "0800000014" + "610000"},
		{"bool of 2", "0900000008" + "61000200"},
		{"string length zero", "0d00000002" + "6100" + "00000000" + "00"},
		{"string length negative", "0d00000002" + "6100" + "ffffffff" + "00"},
		{"string without zero", "0e00000002" + "6100" + "01000000" + "6100"},
		{"string beyond the end", "0e00000002" + "6100" + "03000000" + "0000"},
		{"document longer than its parent", "0d00000003" + "6100" + "0a000000" + "00" + "00"},
		{"document shorter than 5", "0d00000003" + "6100" + "04000000" + "00" + "00"},
		{"binary beyond the end", "0e00000005" + "6100" + "02000000" + "0001" + "00"},
		{"binary of negative length", "0d00000005" + "6100" + "ffffffff" + "00" + "00"},
		{"regex without options", "0a0000000b" + "6100" + "6162" + "00"},
		{
			"scope shorter than said",
			"1a0000000f" + "6100" + "12000000" + "01000000" + "00" + "05000000" + "00" + "00000000" + "00",
		},
	} {
		b, err := hex.DecodeString(tc.hex)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := mongoerr.CodeOf(Validate(b, Limits{})); got != mongoerr.InvalidBSON {
			t.Errorf("%s: code %d", tc.name, got)
		}
	}
	if got := mongoerr.CodeOf(Validate(nested(4), Limits{MaxDepth: 3})); got != mongoerr.Overflow {
		t.Errorf("nesting: code %d", got)
	}
	if got := mongoerr.CodeOf(Validate(nested(limits.DocumentDepth+1),
		Limits{MaxDepth: 1000})); got != mongoerr.Overflow {
		t.Errorf("nesting beyond the maximum: code %d", got)
	}
	text := append(String("a").Data[:4:4], 0xff, 0)
	if err := Validate(NewDoc("a\xff", Value{TypeString, text}), Limits{}); err != nil {
		t.Errorf("text that is not UTF-8: %v", err)
	}
}

func TestValidateAllocatesNothing(t *testing.T) {
	d := sample()
	if n := testing.AllocsPerRun(10, func() { _ = Validate(d, Limits{}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// walk reads every byte that the readers of this package may read.
func walk(d Doc) int {
	n := 0
	for it := d.Iter(); it.Next(); {
		n += len(it.Key())
		switch v := it.Value(); v.Type {
		case TypeDocument, TypeArray:
			n += walk(v.Doc())
		case TypeCodeWithScope:
			code, scope := v.CodeWithScope()
			n += len(code) + walk(scope)
		case TypeString, TypeSymbol, TypeCode:
			n += len(v.StrBytes())
		case TypeBinary:
			_, data := v.Binary()
			n += len(data)
		case TypeRegex:
			p, o := v.Regex()
			n += len(p) + len(o)
		default:
			n += len(v.Data)
		}
	}
	return n
}

// FuzzValidate states that a document that Validate accepts can be iterated, compared, formatted
// and rebuilt.
func FuzzValidate(f *testing.F) {
	f.Add([]byte(sample()))
	f.Add([]byte(nested(20)))
	for i := range len(sample()) {
		b := bytes.Clone(sample())
		b[i] ^= 0x81
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if Validate(b, Limits{}) != nil {
			return
		}
		d := Doc(b)
		walk(d)
		if CompareDocs(d, d) != 0 {
			t.Fatal("a document differs from itself")
		}
		rebuilt := NewBuilder(nil)
		rebuilt.StartDoc()
		for it := d.Iter(); it.Next(); {
			rebuilt.ValueBytes(it.Key(), it.Value())
		}
		rebuilt.End()
		if !bytes.Equal(rebuilt.Bytes(), b) {
			t.Fatalf("rebuilt as %x, not %x", rebuilt.Bytes(), b)
		}
		if int(binary.LittleEndian.Uint32(b)) != len(b) {
			t.Fatal("length")
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	d := sample()
	b.SetBytes(int64(len(d)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Validate(d, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
