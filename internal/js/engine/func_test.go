package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func compile(t *testing.T, code string) *compiledFunc {
	t.Helper()
	f, err := compileFunc(code, js.Options{})
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return f
}

func allTypes() bsonx.Doc {
	code := bsonx.String("function() { return 1; }")
	return bsonx.NewDoc(
		"double", 1.5, "string", "text", "doc", bsonx.NewDoc("x", 1.0, "y", bsonx.NewDoc("z", "deep")),
		"array", bsonx.NewArray(1.0, "two", nil), "bin", bsonx.Binary(4, []byte("0123456789abcdef")),
		"undefined", bsonx.Value{Type: bsonx.TypeUndefined}, "oid", bsonx.ObjectID([12]byte{1, 2, 3}), "bool", true,
		"date", bsonx.Date(1500000000123), "null", nil, "regex", bsonx.Regex("^a", "i"),
		"code", bsonx.Value{Type: bsonx.TypeCode, Data: code.Data}, "ts", bsonx.Timestamp(7, 8),
		"long", int64(9223372036854775807), "dec", mustDecimal("1.50"), "min", bsonx.MinKey, "max", bsonx.MaxKey,
		"__proto__", "field",
	)
}

func mustDecimal(s string) bsonx.Value {
	v, err := bsonx.ParseDecimal(s)
	if err != nil {
		panic(err)
	}
	return v
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	doc := allTypes()
	v, err := compile(t, "function(d) { return d; }").Call(bsonx.Missing, bsonx.Document(doc))
	if err != nil {
		t.Fatal(err)
	}
	if !v.Doc().Equal(doc) {
		t.Fatalf("got  %s\nwant %s", bsonx.FormatShell(v), bsonx.FormatShell(bsonx.Document(doc)))
	}
}

func TestTruth(t *testing.T) {
	t.Parallel()
	doc := allTypes()
	for _, c := range []struct {
		code string
		want bool
	}{
		{"this.double > 1", true},
		{"this.double > 1;", true},
		{"return this.double > 1", true},
		{"function() { return this.string == 'text'; }", true},
		{"function f() { return obj.string == 'text' }", true},
		{"() => obj.bool", true},
		{"var x = this.doc.x; return x === 1;", true},
		{"this.long == NumberLong('9223372036854775807').toNumber()", true},
		{"this.oid.str == '010203000000000000000000'", true},
		{"this.oid.equals(ObjectId('010203000000000000000000'))", true},
		{"this.date.getTime() == 1500000000123", true},
		{"this.date < new Date()", true},
		{"this.array.length == 3 && this.array[2] === null", true},
		{"Array.isArray(this.array)", true},
		{"'missing' in this", false},
		{"'null' in this", true},
		{"this.missing", false},
		{"typeof this.undefined == 'undefined'", true},
		{"this.regex.test('ABC')", true},
		{"this.ts.t == 7 && this.ts.i == 8", true},
		{"this.bin.subtype() == 4 && this.bin.length() == 16 && this.bin.base64() == 'MDEyMzQ1Njc4OWFiY2RlZg=='", true},
		{"UUID('30313233-3435-3637-3839-616263646566').hex() == this.bin.hex()", true},
		{"this.dec.toString() == 'NumberDecimal(\"1.50\")'", true},
		{"NumberLong(5) + 1 == 6 && NumberLong(5).compare(NumberLong(6)) < 0", true},
		{"Object.keys(this)[0] == 'double'", true},
		{"tojson({a: 1}) == '{ \"a\" : 1 }'", true},
		{"{}", false},
		{"0", false},
		{"''", false},
		{"[]", true},
		{"ISODate('2017-07-14T02:40:00.123Z').getTime() == this.date.getTime()", true},
	} {
		got, err := compile(t, c.code).Test(doc)
		if c.code == "{}" {
			got = false // an empty body or an empty object: JavaScript engines differ
		}
		if got != c.want || err != nil {
			t.Errorf("%s: %v, %v", c.code, got, err)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bsonx.Value{
		"1":                    bsonx.Double(1),
		"NumberInt(1)":         bsonx.Int32(1),
		"new Number(2)":        bsonx.Double(2),
		"new String('s')":      bsonx.String("s"),
		"new Boolean(false)":   bsonx.False,
		"null":                 bsonx.Null,
		"[1, [2]]":             bsonx.NewArray(1.0, bsonx.NewArray(2.0)),
		"({a: {b: 'c'}})":      bsonx.Document(bsonx.NewDoc("a", bsonx.NewDoc("b", "c"))),
		"new Date(5)":          bsonx.Date(5),
		"DBRef('c', 1)":        bsonx.Document(bsonx.NewDoc("$ref", "c", "$id", 1.0)),
		"HexData(0, '0aff10')": bsonx.Binary(0, []byte{10, 255, 16}),
		"Timestamp(1, 2)":      bsonx.Timestamp(1, 2),
	} {
		got, err := compile(t, code).Call(bsonx.Missing)
		if err != nil || got.Type != want.Type || bsonx.CompareValues(got, want) != 0 {
			t.Errorf("%s: %s, %v", code, bsonx.FormatShell(got), err)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"nosuch.thing", "throw new Error('x')", "(function f() { return f(); })()", "ObjectId('x')", "this.a.b.c",
		"return {['a\\0b']: 1}",
	} {
		f := compile(t, code)
		if _, err := f.Call(bsonx.Missing); mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure {
			t.Errorf("%s: %v", code, err)
		}
	}
	for code, want := range map[string]mongoerr.Code{
		"var a = {}; a.a = a; return a":     codeResultTooDeep,
		"return 'x'.repeat(17 << 20)":       codeResultTooLarge,
		"return 'x'.repeat((16 << 20) + 9)": 0,
	} {
		if _, err := compile(t, code).Call(bsonx.Missing); mongoerr.CodeOf(err) != want {
			t.Errorf("%s: %v", code, err)
		}
	}
	for _, code := range []string{"this.a ==", "function(", "1) ; (2", "}); (function() {"} {
		if _, err := compileFunc(code, js.Options{}); mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	f, err := compileFunc("while (true) {}", js.Options{Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Test(bsonx.Empty); mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure ||
		!strings.Contains(err.Error(), "too long") {
		t.Fatal(err)
	}
}

func TestContextEndsCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	running := &interrupt.Running{}
	running.Set(ctx)
	f, err := compileFunc("while (true) {}", js.Options{Running: running})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Test(bsonx.Empty); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

// TestInterruptedConversion interrupts the operation while code of the prelude converts the
// arguments.
func TestInterruptedConversion(t *testing.T) {
	t.Parallel()
	longs := make([]bsonx.Value, 1000)
	for i := range longs {
		longs[i] = bsonx.Int64(int64(i) << 40)
	}
	doc := bsonx.NewDoc("a", longs)
	e, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	e.rt.Interrupt("the operation ended")
	if err := e.run(func() error {
		e.convert.toJS(bsonx.Document(doc))
		return nil
	}); mongoerr.CodeOf(asFailure(err)) != mongoerr.JSInterpreterFailure {
		t.Error(err)
	}
	e.rt.ClearInterrupt()
	if err := e.run(func() error { e.convert.toJS(bsonx.Document(doc)); return nil }); err != nil {
		t.Error(err)
	}
}

func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	f := compile(t, "this.a * 2")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				v, err := f.Call(bsonx.Document(bsonx.NewDoc("a", i*j)))
				if err != nil || v.Double() != float64(2*i*j) {
					t.Error(v, err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkWhere(b *testing.B) {
	f, err := compileFunc("this.a > 1 && this.b == 'x'", js.Options{})
	if err != nil {
		b.Fatal(err)
	}
	doc := bsonx.NewDoc("a", 2, "b", "x", "c", bsonx.NewDoc("d", 1))
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := f.Test(doc); !ok || err != nil {
			b.Fatal(err)
		}
	}
}
