package timeseries

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestColumnOfMongoDB decodes columns that a MongoDB server wrote.
func TestColumnOfMongoDB(t *testing.T) {
	for _, test := range []struct {
		column string
		want   string
	}{
		{"EAADAAAAgDoAAiAAAyAAAA==", "3 1 2 3 1 2"},
		{"AQAAAAAAAAAEQLB6DJYgA8dgCQA=", "2.5 1.5 2.25 2.5 1.5 2.25"},
	} {
		raw, err := base64.StdEncoding.DecodeString(test.column)
		if err != nil {
			t.Fatal(err)
		}
		var c column
		if err := c.decode(raw, MaxCount); err != nil {
			t.Fatal(err)
		}
		got := ""
		values := make([]bsonx.Value, c.Len())
		for i := range values {
			values[i] = c.At(i)
			got += " " + bsonx.FormatShell(c.At(i))
		}
		if got[1:] != test.want {
			t.Errorf("%s: %s, want %s", test.column, got[1:], test.want)
		}
		var e columnEncoder
		if again := e.appendColumn(nil, values); string(again) != string(raw) {
			t.Errorf("encoded %x, MongoDB %x", again, raw)
		}
	}
}

// randomColumn makes values that are typical for time series.
func randomColumn(r *rand.Rand, n int) []bsonx.Value {
	kind, step := r.IntN(14), r.Int64N(1<<r.IntN(40)+1)
	values := make([]bsonx.Value, n)
	at := r.Int64N(1 << 41)
	var id [12]byte
	for i := range values {
		at += step
		k := kind
		if kind == 13 || r.IntN(200) == 0 {
			k = r.IntN(13)
		}
		switch k {
		case 0:
			values[i] = bsonx.Date(at + r.Int64N(3))
		case 1:
			values[i] = bsonx.Double(float64(r.IntN(10000)) / 100)
		case 2:
			values[i] = bsonx.Double(r.NormFloat64() * math.Pow(10, float64(r.IntN(300)-150)))
		case 3:
			values[i] = bsonx.Int32(int32(r.Uint32()) >> r.IntN(31))
		case 4:
			values[i] = bsonx.Int64(int64(r.Uint64()) >> r.IntN(63))
		case 5:
			values[i] = bsonx.Bool(r.IntN(2) == 0)
		case 6:
			id[11]++
			id[3] = byte(i / 10)
			id[10] = byte(r.IntN(200) / 199)
			own := id
			values[i] = bsonx.ObjectID(own)
		case 7:
			values[i] = bsonx.String(fmt.Sprint("s", r.IntN(3)))
		case 8:
			values[i] = bsonx.Missing
		case 9:
			values[i] = bsonx.Document(bsonx.NewDoc("a", int32(r.IntN(2))))
		case 10:
			values[i] = bsonx.Int64(7)
		case 11:
			values[i] = bsonx.Double([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), 1, 0.1}[r.IntN(6)])
		default:
			values[i] = []bsonx.Value{
				bsonx.Null,
				{Type: bsonx.TypeMinKey},
				{Type: bsonx.TypeMaxKey},
				bsonx.Regex("a", "i"), bsonx.Timestamp(uint32(i), 1),
			}[r.IntN(5)]
		}
	}
	return values
}

// TestColumnRoundTrip checks that decoding gives the encoded values.
func TestColumnRoundTrip(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		values := randomColumn(r, 1+r.IntN(MaxCount))
		var e columnEncoder
		raw := e.appendColumn(nil, values)
		var c column
		if err := c.decode(raw, len(values)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, want := range values {
			got := c.At(i)
			if !got.Identical(want) {
				t.Fatalf("seed %d, value %d: %s, want %s", seed, i, bsonx.FormatShell(got), bsonx.FormatShell(want))
			}
		}
	}
}

// FuzzColumn checks that no bytes crash the decoder.
func FuzzColumn(f *testing.F) {
	for seed := range uint64(20) {
		var e columnEncoder
		f.Add(e.appendColumn(nil, randomColumn(rand.New(rand.NewPCG(seed, 2)), 40)))
	}
	f.Fuzz(func(_ *testing.T, raw []byte) {
		var c column
		if c.decode(raw, MaxCount) == nil {
			for i := range c.Len() {
				c.At(i)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	values := make([]bsonx.Value, MaxCount)
	for i := range values {
		values[i] = bsonx.Double(20 + float64(r.IntN(200))/10)
	}
	var e columnEncoder
	raw := e.appendColumn(nil, values)
	var c column
	for b.Loop() {
		if err := c.decode(raw, MaxCount); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*MaxCount/b.Elapsed().Seconds()/1e6, "Mvalues/s")
	b.ReportMetric(float64(len(raw))/MaxCount, "bytes/value")
}

func BenchmarkEncode(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	values := make([]bsonx.Value, MaxCount)
	for i := range values {
		values[i] = bsonx.Double(20 + float64(r.IntN(200))/10)
	}
	var e columnEncoder
	var raw []byte
	for b.Loop() {
		raw = e.appendColumn(raw[:0], values)
	}
	b.ReportMetric(float64(b.N)*MaxCount/b.Elapsed().Seconds()/1e6, "Mvalues/s")
}
