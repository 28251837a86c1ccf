package oplog

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

func TestDiff(t *testing.T) {
	for _, test := range []struct{ name, old, doc, want string }{
		{"alike", `{"_id": 1, "a": 1}`, `{"_id": 1, "a": 1}`, `{}`},
		{"set", `{"_id": 1, "a": 1, "b": 2}`, `{"_id": 1, "a": 1, "b": 3}`, `{"u": {"b": 3}}`},
		{"type", `{"a": 1}`, `{"a": {"$numberLong": "1"}}`, `{"u": {"a": {"$numberLong": "1"}}}`},
		{"insert", `{"a": 1}`, `{"a": 1, "b": null}`, `{"i": {"b": null}}`},
		{"delete", `{"a": 1, "b": 2, "c": 3}`, `{"a": 1, "c": 3}`, `{"d": {"b": false}}`},
		{"order", `{"a": 1, "b": 2}`, `{"b": 2, "a": 1}`, `{"i": {"a": 1}}`},
		{
			"nested", `{"a": {"x": 1, "y": "long enough to be worth it"}}`,
			`{"a": {"x": 2, "y": "long enough to be worth it"}}`, `{"sa": {"u": {"x": 2}}}`,
		},
		{"small nested", `{"a": {"x": 1}}`, `{"a": {"x": 2}}`, `{"u": {"a": {"x": 2}}}`},
		{
			"push", `{"a": ["0123456789", "0123456789"]}`, `{"a": ["0123456789", "0123456789", 3]}`,
			`{"sa": {"a": true, "u2": 3}}`,
		},
		{
			"pop", `{"a": ["0123456789", "0123456789", 3]}`, `{"a": ["0123456789", "0123456789"]}`,
			`{"sa": {"a": true, "l": 2}}`,
		},
		{"element", `{"a": ["0123456789", {"b": 1, "c": "01234567890123456789"}]}`, `{"a": ["0123456789", {"b": 2, "c": "01234567890123456789"}]}`, `{"sa": {"a": true, "s1": {"u": {"b": 2}}}}`},
		{"two elements", `{"a": ["0123456789", {"b": 1, "c": "01234567890123456789"}, {"b": 1, "c": "01234567890123456789"}]}`, `{"a": ["0123456789", {"b": 2, "c": "01234567890123456789"}, {"b": 3, "c": "01234567890123456789"}]}`, `{"sa": {"a": true, "s1": {"u": {"b": 2}}, "s2": {"u": {"b": 3}}}}`},
		{"array becomes document", `{"a": [1]}`, `{"a": {"0": 1}}`, `{"u": {"a": {"0": 1}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var d Differ
			old, changed, want := bsonxtest.Parse(t, test.old), bsonxtest.Parse(t,
				test.doc), bsonxtest.Parse(t, test.want)
			diff, err := diffOf(&d, old, changed)
			if err != nil {
				t.Fatal(err)
			}
			if !bsonx.Doc(diff).Equal(want) {
				t.Errorf("got %v, want %v", bson.Raw(diff), bson.Raw(want))
			}
			again, err := Apply(nil, old, diff)
			if err != nil || !changed.Equal(again) {
				t.Errorf("applied it makes %v, %v", bson.Raw(again), err)
			}
		})
	}
}

// value draws a value with up to depth levels.
func value(depth int) *rapid.Generator[any] {
	scalar := rapid.OneOf(rapid.Int32Range(0, 3).AsAny(),
		rapid.SampledFrom([]any{"x", "a longer text of some length", nil, 1.5, true}))
	if depth == 0 {
		return scalar
	}
	return rapid.OneOf(scalar, document(depth-1).AsAny(),
		rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), func(v []any) any { return bson.A(v) }))
}

func document(depth int) *rapid.Generator[bson.D] {
	return rapid.Custom(func(t *rapid.T) bson.D {
		d := bson.D{}
		for _, key := range rapid.Permutation([]string{"a", "b", "c", "d"}).
			Draw(t, "keys")[:rapid.IntRange(0, 4).Draw(t, "n")] {
			d = append(d, bson.E{key, value(depth).Draw(t, "value")})
		}
		return d
	})
}

func TestDiffApplies(t *testing.T) {
	var d Differ
	rapid.Check(t, func(t *rapid.T) {
		marshal := func(v bson.D) bsonx.Doc {
			raw, err := bson.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
		old, changed := marshal(document(3).Draw(t, "old")), marshal(document(3).Draw(t, "doc"))
		diff, err := diffOf(&d, old, changed)
		if err != nil {
			t.Fatal(err)
		}
		if err := bsonx.Validate(diff, bsonx.Limits{}); err != nil {
			t.Fatal(err)
		}
		again, err := Apply(nil, old, diff)
		if err != nil || !changed.Equal(again) {
			t.Fatalf("%v applied to %v makes %v, not %v: %v", bson.Raw(diff), bson.Raw(old),
				bson.Raw(again), bson.Raw(changed), err)
		}
	})
}

func TestApplyRefuses(t *testing.T) {
	for _, diff := range []string{
		`{"x": {}}`, `{"u": 1}`, `{"": {}}`, `{"sa": {"u": {"b": 1}}}`,
		`{"sb": {"a": true, "u1000000": 1}}`,
	} {
		if _, err := Apply(nil, bsonxtest.Parse(t, `{"a": 1, "b": []}`), bsonxtest.Parse(t, diff)); err == nil {
			t.Errorf("%s: no error", diff)
		}
	}
}

func TestEntry(t *testing.T) {
	uuid := [16]byte{1}
	op := &Operation{
		Kind: Update, Namespace: "d.c", UUID: &uuid, O: bsonxtest.Parse(t, `{"$v": 2, "diff": {"u": {"a": 1}}}`),
		O2: bsonxtest.Parse(t, `{"_id": 1}`),
		By: &Writer{Session: bsonxtest.Parse(t, `{"id": 1}`), TxnNumber: 5, StmtID: 2},
	}
	buf, at := AppendEntry([]byte("before"), op, 1000)
	entry := bsonx.Doc(buf[len("before"):])
	binary.LittleEndian.PutUint64(entry[at:], 7<<32|3)
	want := bsonxtest.Parse(t, `{"lsid": {"id": 1}, "txnNumber": {"$numberLong": "5"}, "op": "u", "ns": "d.c",
		"ui": {"$binary": {"base64": "AQAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}, "o": {"$v": 2, "diff": {"u": {"a": 1}}}, "o2": {"_id": 1}, "stmtId": 2,
		"ts": {"$timestamp": {"t": 7, "i": 3}}, "t": {"$numberLong": "1"}, "v": {"$numberLong": "2"}, "wall": {"$date": "1970-01-01T00:00:01Z"}}`)
	if !entry.Equal(want) {
		t.Errorf("got %v\nwant %v", bson.Raw(entry), bson.Raw(want))
	}
}

// TestDiffStops interrupts the diff of large documents. The diff must fail soon.
func TestDiffStops(t *testing.T) {
	array := func(first int32) bsonx.Value {
		b := bsonx.NewBuilder(nil)
		b.StartArray()
		for i := range int32(1 << 14) {
			b.Elem(bsonx.Int32(first + i))
		}
		b.End()
		return bsonx.Array(b.Bytes())
	}
	object := func(prefix string) bsonx.Value {
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		for i := range 1 << 14 {
			b.Int32(prefix+strconv.Itoa(i), 1)
		}
		b.End()
		return bsonx.Document(b.Bytes())
	}
	for name, change := range map[string][2]bsonx.Value{
		"elements": {array(0), array(1)},
		"more":     {bsonx.NewArray(), array(0)},
		"fields":   {object("f"), object("g")},
		"same fields": {
			bsonx.Document(bsonx.NewDoc("a", array(0), "b", 1)),
			bsonx.Document(bsonx.NewDoc("a", array(0), "b", array(1))),
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d := Differ{Running: &interrupt.Running{}}
		old, changed := bsonx.NewDoc("v", change[0]), bsonx.NewDoc("v", change[1])
		if _, err := diffOf(&d, old, changed); err != nil {
			t.Errorf("%s without an operation: %v", name, err)
		}
		d.Running.Set(ctx)
		if _, err := diffOf(&d, old, changed); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// diffOf returns the diff that makes doc of old.
func diffOf(d *Differ, old, doc bsonx.Doc) ([]byte, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	err := d.Fields(b, old, doc)
	b.End()
	return b.Bytes(), err
}
