package filter

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
)

// bitMasks returns the mask with the given positions, which are sorted, in all notations of the
// query language.
func bitMasks(positions []int) map[string]any {
	list, data, number := make([]bsonx.Value, len(positions)), []byte{}, int64(0)
	for i, pos := range positions {
		list[len(list)-1-i] = bsonx.Int32(int32(pos))
		for pos/8 >= len(data) {
			data = append(data, 0)
		}
		data[pos/8] |= 1 << (pos % 8)
		number |= 1 << min(pos, 62)
	}
	masks := map[string]any{
		"list": list, "repeated": append(list, list...), "bytes": bsonx.Binary(0, data),
		"more bytes": bsonx.Binary(0, append(data, 0, 0)),
	}
	if len(positions) == 0 || positions[len(positions)-1] < 62 {
		masks["number"] = number
	}
	return masks
}

// TestBitsModel matches values with random masks in each notation, and compares the results with a
// model that tests one bit after another.
func TestBitsModel(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		var positions []int
		for range rng.IntN(6) {
			positions = append(positions, rng.IntN(1+rng.IntN(100)))
		}
		slices.Sort(positions)
		positions = slices.Compact(positions)
		data := make([]byte, rng.IntN(12))
		for i := range data {
			data[i] = byte([]uint32{0, 0xff, rng.Uint32()}[rng.IntN(3)])
		}
		number := int64(rng.Uint64()) >> rng.IntN(64)
		values := []struct {
			v   bsonx.Value
			bit func(pos int) bool
		}{
			{bsonx.Binary(0, data), func(pos int) bool { return pos/8 < len(data) && data[pos/8]>>(pos%8)&1 == 1 }},
			{bsonx.Int64(number), func(pos int) bool { return number>>min(pos, 63)&1 == 1 }},
		}
		for name, mask := range bitMasks(positions) {
			for op, of := range bitsOps {
				f, err := Parse(bsonx.NewDoc("a", bsonx.NewDoc(of.name, mask)), Options{Vars: expressions.Scope()})
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range values {
					if got, want := f.Root.matchElem(v.v, nil), modelBits(BitsOp(op), positions, v.bit); got != want {
						t.Fatalf("%s %s %v of %v: %v", of.name, name, positions, v.v, got)
					}
				}
			}
		}
	}
}

func modelBits(op BitsOp, positions []int, bit func(int) bool) bool {
	set := 0
	for _, pos := range positions {
		if bit(pos) {
			set++
		}
	}
	return [...]bool{
		AllSet: set == len(positions), AllClear: set == 0, AnySet: set > 0,
		AnyClear: set < len(positions),
	}[op]
}

// TestBitsSerialize checks that serialised masks are lists of positions.
func TestBitsSerialize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mask any
		want string
	}{
		{int64(0b1010), "[1,3]"},
		{bsonx.Binary(0, []byte{1, 0x80, 0}), "[0,15]"},
		{[]bsonx.Value{bsonx.Int32(9), bsonx.Int64(2), bsonx.Double(9)}, "[9,2,9]"},
		{[]bsonx.Value{}, "[]"},
	} {
		f := mustParse(t, bsonx.NewDoc("a", bsonx.NewDoc("$bitsAllSet", c.mask)))
		if got, want := toJSON(Serialize(f.Root)), `{"a":{"$bitsAllSet":`+c.want+`}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// largeMasks returns a mask of many bits in the notations of the query language.
func largeMasks() map[string]any {
	data := make([]byte, 8<<20)
	list := bsonx.NewBuilder(nil)
	list.StartArray()
	for i := range data {
		data[i] = 0xff
	}
	for i := range int32(1 << 19) {
		list.Elem(bsonx.Int32(i))
	}
	list.End()
	return map[string]any{"bytes": bsonx.Binary(0, data), "list": bsonx.Array(list.Bytes())}
}

// TestBitsMemory parses, matches, compares and formats large masks. The allocated memory must be
// small, or counted in the memory of the operation.
func TestBitsMemory(t *testing.T) { //nolint:paralleltest // it measures the allocations of the process
	torture.NeedsLong(t)
	for name, mask := range largeMasks() {
		for _, of := range bitsOps {
			spec := bsonx.NewDoc("a", bsonx.NewDoc(of.name, mask))
			spec = bsonx.NewDoc("$and", []bsonx.Doc{spec, spec})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f, err := Parse(spec, Options{Vars: expressions.Scope(), Borrow: true})
			if err != nil {
				t.Fatal(err)
			}
			f = f.Normalize()
			if _, err := f.Match(bsonx.NewDoc("a", 5)); err != nil {
				t.Fatal(err)
			}
			SubsetOf(f.Root, f.Root)
			shapeKey(f)
			shown := SerializeShort(f.Root, 1<<20)
			runtime.ReadMemStats(&after)
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(12*len(spec)); got > most {
				t.Errorf("%s %s: %d bytes were allocated, want at most %d", of.name, name, got, most)
			}
			if len(shown) > 16<<20 {
				t.Errorf("%s %s: %d bytes are shown", of.name, name, len(shown))
			}
		}
	}
}

// TestBitsCount checks that parsing and formatting large masks fails in an operation with too
// little memory.
func TestBitsCount(t *testing.T) {
	t.Parallel()
	for name, mask := range largeMasks() {
		var op memory.Operation
		op.Use(memory.New(4 << 20))
		ctx := context.WithValue(t.Context(), memory.OperationKey(), &op)
		running := &interrupt.Running{}
		running.Set(ctx)
		opts := Options{Vars: expressions.Scope().WithScripts(js.Options{Running: running})}
		f, err := Parse(bsonx.NewDoc("a", bsonx.NewDoc("$bitsAnySet", mask)), opts)
		if err == nil {
			_, err = SerializeWithin(ctx, f.Root)
		}
		if mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBitsLooks counts the checks for an interrupt while large masks are parsed, matched and
// formatted.
func TestBitsLooks(t *testing.T) {
	t.Parallel()
	large := bsonx.NewDoc("a", bsonx.Binary(0, make([]byte, 8<<20)))
	for name, mask := range largeMasks() {
		op, running := interrupttest.New(t.Context()), &interrupt.Running{}
		running.Set(op)
		opts := Options{Vars: expressions.Scope().WithScripts(js.Options{Running: running})}
		looks := func(what string, want int, do func() error) {
			t.Helper()
			before := op.Looks
			if err := do(); err != nil {
				t.Fatal(err)
			}
			if got := op.Looks - before; got < want {
				t.Errorf("%s is %s with %d looks, want %d", name, what, got, want)
			}
		}
		var f *Filter
		looks("read", 1, func() (err error) {
			f, err = Parse(bsonx.NewDoc("a", bsonx.NewDoc("$bitsAnySet", mask)), opts)
			return err
		})
		looks("matched", 1<<19/interrupt.Interval, func() error {
			_, err := f.Match(large)
			return err
		})
		looks("shown", 1<<19*interrupt.Step/interrupt.Interval, func() error {
			_, err := SerializeWithin(op, f.Root)
			return err
		})
		if _, err := SerializeWithin(interrupttest.EndAfter(t.Context(), 1),
			f.Root); !errors.Is(err, interrupttest.ErrEnded) {
			t.Errorf("%s is shown after the end: %v", name, err)
		}
	}
}
