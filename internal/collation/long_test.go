package collation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
)

// longCollators returns collators for every locale and every option.
func longCollators(t *testing.T) map[string]*Collator {
	t.Helper()
	out := map[string]*Collator{}
	add := func(spec bsonx.Doc) {
		c, err := Parse(spec)
		if mongoerr.CodeOf(err) == mongoerr.NotImplemented {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		out[bsonx.FormatShell(bsonx.Document(spec))] = c
	}
	for name := range supported {
		add(bsonx.NewDoc("locale", name))
	}
	for _, strength := range []int{1, 2, 3, 4, 5} {
		for _, backwards := range []bool{false, strength > 1} {
			add(bsonx.NewDoc("locale", "en", "strength", strength, "backwards", backwards))
			add(bsonx.NewDoc("locale", "en", "strength", strength, "backwards", backwards, "alternate", "shifted"))
			add(bsonx.NewDoc("locale", "en", "strength", strength, "backwards", backwards,
				"numericOrdering", true, "caseLevel", true))
		}
	}
	add(bsonx.NewDoc("locale", "en", "caseFirst", "upper"))
	return out
}

// longTexts returns texts that consist of several pieces.
func longTexts(r *rand.Rand) []string {
	units := []string{
		"a", "b", "Z", " ", "-", "ch", "CH", "l·l", "é", "e\u0301", "ß", "Æ", "ö", "ä", "я", "й",
		"и\u0306", "ω", "ა", "漢", "字", "각", "각",
		"か", "が", "か\u3099", "カー", "ｶﾞ", "ゝ", "א", "ع", "لا", "ﷺ", "1", "0", "00", "٩", "𝟘", "\u0001", "\u0301\u0323",
		"\xff", "\xe0\xa0", "\x00", "㍿", "⓪", "😀",
		"เก", "แ", "ก", "ि", "क्ष", "ใ", "ໄ", "\u0344", "\u0f73", "\ufb1d", "ʼn", "ij", "’", "º",
	}
	var out []string
	for _, n := range []int{1, 2, 5, len(units)} {
		for range 3 {
			var b strings.Builder
			some := make([]string, n)
			for i := range some {
				some[i] = units[r.IntN(len(units))]
			}
			for b.Len() < 12<<10 {
				b.WriteString(some[r.IntN(n)])
			}
			out = append(out, b.String())
		}
	}
	for _, unit := range []string{"a", "é", "漢字", "各각", "0", "7", "a1", "a b-", "Ab"} {
		out = append(out, strings.Repeat(unit, (12<<10)/len(unit)))
	}
	return out
}

// TestLong requires that processing texts in pieces gives the same keys and comparisons as
// processing whole texts.
func TestLong(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	collators := longCollators(t)
	for _, s := range longTexts(r) {
		for name, c := range collators {
			if r.IntN(6) > 0 {
				continue
			}
			w := c.worker()
			want := c.appendKey(nil, []byte(s), w)
			got, err := c.AppendKey(nil, []byte(s), nil)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("seed %d: %s: another key of %.200q, from byte %d, %v", seed,
					name, s, sameBytes(got, want), err)
				continue
			}
			other := change(r, s)
			order := bytes.Compare(want, c.appendKey(nil, []byte(other), w))
			if got := c.CompareValues(bsonx.String(s), bsonx.String(other)); got != order {
				t.Errorf("seed %d: %s: %d instead of %d of %.200q", seed, name, got, order, s)
			}
			if got := c.CompareValues(bsonx.String(other), bsonx.String(s)); got != -order {
				t.Errorf("seed %d: %s: reverse %d instead of %d of %.200q", seed, name, got, -order, s)
			}
		}
	}
}

// change returns a text with a random change in one place.
func change(r *rand.Rand, s string) string {
	at := r.IntN(len(s))
	return s[:at] + []string{"", "a", "É", "\u0301", "0", " "}[r.IntN(6)] + s[min(len(s), at+r.IntN(3)):]
}

func sameBytes(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// endless returns texts that take long to process, named by the property that makes them slow.
func endless(size int) map[string]string {
	out := map[string]string{}
	for name, unit := range map[string]string{
		"ascii": "abcdefgh", "accents": "éàüöñçßø", "digits": "12345678", "zeros": "0",
		"marks": "\u0301\u0302", "decomposed": "áé̂", "hangul": "각각힣", "thai": "เกแ",
		"invalid": "\xe0\xa0", "ignorable": "\u0001",
	} {
		out[name] = strings.Repeat(unit, size/len(unit))
	}
	return out
}

// countedEnd is a context that is cancelled after a number of checks.
type countedEnd struct {
	context.Context
	left int
}

func (c *countedEnd) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestLooks requires that every operation on a long text checks for interrupts regularly, and stops
// after one.
func TestLooks(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	var running interrupt.Running
	ends := func() *countedEnd {
		ctx := &countedEnd{Context: t.Context(), left: 2}
		running.Set(ctx)
		return ctx
	}
	for _, options := range []bsonx.Doc{
		bsonx.NewDoc("locale", "en"),
		bsonx.NewDoc("locale", "en", "numericOrdering", true), bsonx.NewDoc("locale", "fr_CA", "strength", 5),
		bsonx.NewDoc("locale", "cs"),
	} {
		c, err := Parse(options)
		if err != nil {
			t.Fatal(err)
		}
		served := c.Serving(&running)
		for name, s := range endless(size) {
			a, b := bsonx.String(s+"x"), bsonx.String("\u0001"+s+"y")
			in := func(v bsonx.Value) bsonx.Value { return bsonx.Document(bsonx.NewDoc("a", bsonx.NewArray(1, v))) }
			for use, do := range map[string]func() error{
				"key":           func() error { _, err := c.Fold(a, &running); return err },
				"served key":    func() error { _, err := served.Fold(a, nil); return err },
				"key in array":  func() error { _, err := served.Fold(in(a), nil); return err },
				"comparison":    func() error { served.CompareValues(a, b); return served.Ended(a, b) },
				"in array":      func() error { served.CompareValues(in(a), in(b)); return served.Ended(a, b) },
				"sort":          func() error { return c.Sort([]bsonx.Value{a, b, a, b}, new(interrupt.Meter), &running) },
				"sort of small": func() error { return c.Sort(small(s, 500), new(interrupt.Meter), &running) },
			} {
				ctx := ends()
				if err := do(); !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %s of %s: %v", bsonx.FormatShell(bsonx.Document(options)), use, name, err)
				}
				if ctx.left < -4 {
					t.Errorf("%s: %s of %s goes on after its end",
						bsonx.FormatShell(bsonx.Document(options)), use, name)
				}
			}
		}
	}
}

// small returns values that are each too small for a check for interrupts.
func small(s string, n int) []bsonx.Value {
	out := make([]bsonx.Value, n)
	for i := range out {
		out[i] = bsonx.String(fmt.Sprint("\u0001", s[:1<<10], (i*7919)%n))
	}
	return out
}

// TestHeld requires that the memory of a large key is reserved before the key is built.
func TestHeld(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	for name, s := range endless(4 << 20) {
		for _, options := range []bsonx.Doc{
			bsonx.NewDoc("locale", "en"),
			bsonx.NewDoc("locale", "en", "numericOrdering", true, "strength", 5),
		} {
			c, err := Parse(options)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []bsonx.Value{bsonx.String(s), bsonx.NewArray(s)} {
				budget := memory.New(4 << 20)
				op := new(memory.Operation)
				op.Use(budget)
				var running interrupt.Running
				running.Set(context.WithValue(t.Context(), memory.OperationKey(), op))
				folded, err := c.Fold(v, &running)
				if len(folded.Data) > 2<<20 ||
					err == nil && len(folded.Data) < 1<<20 && name != "zeros" &&
						name != "ignorable" && name != "invalid" {
					t.Errorf("%s, %s: %d bytes of a key, %v",
						bsonx.FormatShell(bsonx.Document(options)), name, len(folded.Data), err)
				}
				if err != nil && mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit {
					t.Error(err)
				}
				op.Release()
			}
		}
	}
}
