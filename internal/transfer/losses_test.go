package transfer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

// TestAutoCellsKeepTheirText checks that a cell that becomes a number is exported as the same text,
// except for the form of its exponent. An exported number must be read as the same number.
func TestAutoCellsKeepTheirText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`[-+]?[0-9]{0,24}(\.[0-9]{0,24})?([eE][-+]?[0-9]{1,3})?`).Draw(t, "cell")
		if v := guess(cell); v != cell && !strings.Contains(cell, "e") && cell != "-0" {
			if text := textOf(t, v); text != cell {
				t.Errorf("%q became %T %v, which is exported as %q", cell, v, v, text)
			}
		}
		f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		for _, v := range []any{
			f, math.Trunc(f), rapid.Float64Range(-1e9, 1e9).Draw(t, "f"),
			rapid.Int64().Draw(t, "n"), rapid.Int32().Draw(t, "i"),
		} {
			if n, ok := v.(int64); ok && int64(int32(n)) == n {
				continue // as an int32
			}
			if got := guess(textOf(t, v)); got != v {
				t.Errorf("%T %v is exported as %q, which becomes %T %v", v, v, textOf(t, v), got, got)
			}
		}
	})
}

func textOf(t *rapid.T, v any) string {
	kind, data, err := bson.MarshalValue(v)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := formatAuto(bson.RawValue{Type: kind, Value: data}, "")
	return text
}

// TestCellsAreKept writes tables of arbitrary cells, with any line ends, and reads them.
func TestCellsAreKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 3).Draw(t, "columns")
		cell := rapid.StringMatching(`([ab",;\t\r\n\x{ff}]|\r\n){0,4}`)
		table := rapid.SliceOfN(rapid.SliceOfN(cell, columns, columns), 1, 5).Draw(t, "table")
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end")
		var file strings.Builder
		for _, record := range append([][]string{{"k"}}, table...) {
			for i, text := range record {
				if i > 0 {
					file.WriteByte(',')
				}
				if len(record) == 1 && text == "" || strings.ContainsAny(text, "\",\r\n") {
					text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
				}
				file.WriteString(text)
			}
			file.WriteString(end)
		}
		text := file.String()
		if rapid.Bool().Draw(t, "no last line end") {
			text = strings.TrimSuffix(text, end)
		}
		// The buffer and the reads are small: their boundaries must not change a cell.
		r, err := newCellReader(bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(text)), 16), ',')
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.read(); err != nil {
			t.Fatal(err)
		}
		for i, want := range table {
			got, _, err := r.read()
			if err != nil || strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
				t.Fatalf("record %d of %q: %q, %v, want %q", i, text, got, err, want)
			}
		}
		if got, _, err := r.read(); !errors.Is(err, io.EOF) {
			t.Fatalf("behind the end of %q: %q, %v", text, got, err)
		}
	})
}

// FuzzCells checks that cellReader agrees with encoding/csv on files without \r, and accepts the
// same files.
func FuzzCells(f *testing.F) {
	f.Add("a,b\n1,\"x\ny\"\n\n\"\"\n")
	f.Add("a,\"b\"c\n\"x\"\"y\",z")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "\r", "")
		want := csv.NewReader(strings.NewReader(text))
		want.FieldsPerRecord = -1
		r, err := newCellReader(bufio.NewReaderSize(strings.NewReader(text), 16), ',')
		if err != nil {
			t.Fatal(err)
		}
		for {
			cells, _, err := r.read()
			wanted, wantErr := want.Read()
			if (err == nil) != (wantErr == nil) || errors.Is(err, io.EOF) != errors.Is(wantErr, io.EOF) {
				t.Fatalf("%q: %v, %v", text, err, wantErr)
			}
			if err != nil {
				return
			}
			if strings.Join(cells, "|") != strings.Join(wanted, "|") {
				t.Fatalf("%q: %q, want %q", text, cells, wanted)
			}
		}
	})
}

// TestSingleEmptyCell checks that a record whose only cell is empty is not written as an empty
// line, which would not count as a record.
func TestSingleEmptyCell(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	w, err := NewWriter(&file, CSV, WriterOptions{Columns: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{"x", "", nil, "y"} {
		doc, _ := bson.Marshal(bson.D{{"a", v}})
		if err := w.Write(doc); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const want = "2 {\"a\":\"x\"}\n3 {\"a\":\"\"}\n4 {\"a\":\"\"}\n5 {\"a\":\"y\"}\n"
	if got := readAll(t, file.String(), CSV, ReaderOptions{}); got != want {
		t.Errorf("%q is read as\n%s", file.String(), got)
	}
}

// TestCellsOfColumns writes values into columns of other types.
func TestCellsOfColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		column string
		value  any
		want   string
	}{
		{"a", 5.0, "5.0"},
		{"a", 1e6, "1000000.0"},
		{"a.int32()", 5.0, "5"},
		{"a.int64()", -1e15, "-1000000000000000"},
		{"a.int64()", 1.5, "1.5"},
		{"a.binary(hex)", bson.Binary{Data: []byte{1}}, "01"},
		{
			"a.binary()",
			bson.Binary{Subtype: 4, Data: []byte{1}},
			`"{""$binary"":{""base64"":""AQ=="",""subType"":""04""}}"`,
		},
	} {
		got, err := export(t, CSV, WriterOptions{Columns: []string{c.column}}, bson.D{{"a", c.value}})
		if _, cell, _ := strings.Cut(got, "\n"); err != nil || cell != c.want+"\n" {
			t.Errorf("%v in %s: %q, %v, want %q", c.value, c.column, cell, err, c.want)
		}
	}
}

// TestNamesLikeExtendedJSON checks that a document that Extended JSON would turn into another value
// is not exported. Other names that begin with $ are exported.
func TestNamesLikeExtendedJSON(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		bson.D{{"$numberInt", "5"}},
		bson.D{{"$date", "hello"}},
		bson.A{bson.D{{"$uuid", "c8edabc3-f738-4ca3-b68d-ab92a91478a3"}}},
		bson.DBPointer{DB: `a"b`},
		bson.Binary{Subtype: bson.TypeBinaryBinaryOld},
		bson.CodeWithScope{Scope: bson.D{{"x", bson.D{{"$oid", "0123456789abcdef01234567"}}}}},
	} {
		for _, canonical := range []bool{true, false} {
			text, err := export(t, JSON, WriterOptions{Canonical: canonical},
				bson.D{{"_id", int32(7)}, {"a", v}})
			if err == nil || !strings.Contains(err.Error(), `"7"`) || !strings.Contains(err.Error(), `field "a"`) {
				t.Errorf("%v was exported as %s: %v", v, text, err)
			}
		}
	}
	for _, v := range []any{
		"$5",
		bson.D{{"$ref", "x"}, {"$id", 1}},
		bson.D{{"$gt", 5}},
		bson.D{{"$regex", "a"}},
	} {
		if _, err := export(t, JSON, WriterOptions{}, bson.D{{"a", v}}); err != nil {
			t.Errorf("%v: %v", v, err)
		}
	}
}

// TestReadErrorsAreNoEnd checks that an error in the middle of a file is returned as an error, in
// every format.
func TestReadErrorsAreNoEnd(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is broken")
	for format, text := range map[Format]string{JSON: "{}\n{}\n", JSONArray: "[{}]", CSV: "a\n1\n", TSV: "a\r1\r"} {
		for at := range len(text) + 1 {
			r, err := NewReader(io.MultiReader(strings.NewReader(text[:at]),
				iotest.ErrReader(broken)), format, ReaderOptions{})
			for err == nil {
				_, _, err = r.Next()
			}
			if !errors.Is(err, broken) {
				t.Errorf("%s, broken after %d bytes: %v", format, at, err)
			}
		}
	}
}

// TestCanonicalJSONKeepsEveryType writes documents with any values in canonical Extended JSON and
// reads them.
func TestCanonicalJSONKeepsEveryType(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want, err := bson.Marshal(bson.D{{"_id", 1}, {"v", anyValue(3).Draw(t, "v")}})
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []Format{JSON, JSONArray} {
			var file bytes.Buffer
			w, err := NewWriter(&file, format, WriterOptions{Canonical: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Write(want), w.Write(want), w.Close()); err != nil {
				t.Fatal(err)
			}
			r, err := NewReader(bytes.NewReader(file.Bytes()), format, ReaderOptions{})
			for range 2 {
				if err != nil {
					break
				}
				var got bson.Raw
				if got, _, err = r.Next(); err == nil && !bytes.Equal(got, want) {
					t.Fatalf("%s is read as %s", file.Bytes(), got)
				}
			}
			if err != nil {
				t.Fatalf("%s: %v", file.Bytes(), err)
			}
		}
	})
}

// anyValue generates a value of any BSON type. Documents in it have no names that begin with $.
func anyValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		text := rapid.String()
		line := rapid.StringMatching(`[a-zäß/\\"\n]{0,5}`)
		id := bson.NewObjectIDFromTimestamp(time.Unix(int64(rapid.Uint32().Draw(t, "id")), 0))
		switch kind := rapid.IntRange(0, 19).Draw(t, "kind"); kind {
		case 0:
			return text.Draw(t, "string")
		case 1:
			return rapid.Float64().Draw(t, "double")
		case 2:
			return rapid.SampledFrom([]float64{
				math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 5, 1e21,
				math.SmallestNonzeroFloat64,
			}).Draw(t, "double")
		case 3:
			return rapid.Int32().Draw(t, "int")
		case 4:
			return rapid.Int64().Draw(t, "long")
		case 5:
			return bson.DateTime(rapid.Int64().Draw(t, "date"))
		case 6:
			return bson.Timestamp{T: rapid.Uint32().Draw(t, "t"), I: rapid.Uint32().Draw(t, "i")}
		case 7:
			return bson.Binary{
				Subtype: rapid.Byte().Draw(t, "subtype"),
				Data:    rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "data"),
			}
		case 8:
			return bson.Regex{
				Pattern: line.Draw(t, "pattern"),
				Options: rapid.StringMatching(`i?m?s?x?`).Draw(t, "options"),
			}
		case 9:
			d, _ := bson.ParseDecimal128(rapid.StringMatching(`-?[0-9]{1,34}(E[-+][0-9]{1,3})?|NaN|-?Infinity`).
				Draw(t, "decimal"))
			return d
		case 10:
			return id
		case 11:
			return rapid.SampledFrom([]any{
				true, false, nil,
				bson.Undefined{},
				bson.MinKey{},
				bson.MaxKey{},
			}).Draw(t, "constant")
		case 12:
			return bson.Symbol(text.Draw(t, "symbol"))
		case 13:
			return bson.JavaScript(text.Draw(t, "code"))
		case 14:
			return bson.DBPointer{DB: rapid.StringMatching(`[a-zäß.]{0,5}`).Draw(t, "db"), Pointer: id}
		case 15:
			return bson.CodeWithScope{
				Code:  bson.JavaScript(line.Draw(t, "code")),
				Scope: bson.D{{line.Draw(t, "name"), text.Draw(t, "value")}},
			}
		default:
			if depth == 0 {
				return "leaf"
			}
			values := rapid.SliceOfN(anyValue(depth-1), 0, 3).Draw(t, "values")
			if kind%2 == 0 {
				return bson.A(values)
			}
			doc := bson.D{}
			for _, v := range values {
				doc = append(doc, bson.E{line.Draw(t, "name"), v})
			}
			return doc
		}
	})
}
