package update_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/update"
)

func parse(t testing.TB, text string) *update.Update {
	t.Helper()
	u, err := update.Parse(bsonxtest.ParseValue(t, text), options(expressions.Scope(), bsonx.Missing))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestAffects(t *testing.T) {
	t.Parallel()
	u := parse(t, `{"$set":{"a.$[].b":1,"c.0.d":1,"0.x":1},"$rename":{"e":"f.g"},"$inc":{"c.1.d":1}}`)
	for path, want := range map[string]bool{
		"a": true, "a.b": true, "a.b.c": true, "a.c": false, "ab": false, "c.5.d": true, "c": true, "f": true,
		"f.h": false, "z": false, "0": true,
		"a.1.b": true, "a.1.c": false, "c.e": true, "c.7": true, "0.y": false, "0.x.1": true, "e.f": true,
	} {
		if got := u.Affects(path); got != want {
			t.Errorf("Affects(%s) = %v", path, got)
		}
	}
	for _, text := range []string{`{"a":1}`, `[{"$set":{"a":1}}]`} {
		if !parse(t, text).Affects("z") {
			t.Errorf("%s can change all paths", text)
		}
	}
	if !parse(t, `{"$set":{"a.$.b":1}}`).NeedsMatchedIndex() || u.NeedsMatchedIndex() {
		t.Error("NeedsMatchedIndex")
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	u := parse(t, `{"$set":{"a.b":1,"n.m":2},"$unset":{"x":1},"$push":{"l":3},"$inc":{"i":0},"$pop":{"p":1},"$mul":{"l2.$[]":2}}`)
	var got []string
	env := update.Env{Now: now, Record: func(m update.Modification) {
		kind := [...]string{"set ", "remove ", "append "}[m.Kind]
		got = append(got, kind+m.Path+" "+bsonx.FormatShell(m.Value))
	}}
	if _, _, err := u.Apply(bsonxtest.ParseValue(t, `{"_id":1,"a":{"b":0},"x":1,"l":[1],"i":1,"p":[1,2],"l2":[1,0]}`).Doc(), env); err != nil {
		t.Fatal(err)
	}
	want := []string{"set a.b 1", "append l [ 3 ]", "set l2.0 2", "set n.m 2", "set p [ 1 ]", "remove x"}
	for i := range got {
		if i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// nested returns a document that is nested n levels deep.
func nested(n int) bsonx.Value {
	v := bsonx.Int32(1)
	for range n {
		v = bsonx.Document(bsonx.NewDoc("x", v))
	}
	return v
}

func TestNestingLimit(t *testing.T) {
	t.Parallel()
	doc := bsonx.NewDoc("_id", 1, "l", bsonx.NewArray())
	path := strings.TrimSuffix(strings.Repeat("x.", limits.StoredDepth), ".")
	cases := []struct {
		name string
		at   bsonx.Doc // an update whose result has the largest allowed nesting depth
		over bsonx.Doc // an update whose result is one level too deep
	}{
		{
			"set", bsonx.NewDoc("$set", bsonx.NewDoc("a", nested(limits.StoredDepth-1))),
			bsonx.NewDoc("$set", bsonx.NewDoc("a", nested(limits.StoredDepth))),
		},
		{"path", bsonx.NewDoc("$set", bsonx.NewDoc(path, 1)), bsonx.NewDoc("$set", bsonx.NewDoc(path+".x", 1))},
		{
			"push", bsonx.NewDoc("$push", bsonx.NewDoc("l", nested(limits.StoredDepth-2))),
			bsonx.NewDoc("$push", bsonx.NewDoc("l", nested(limits.StoredDepth-1))),
		},
		{"replacement", bsonx.NewDoc("a", nested(limits.StoredDepth-1)), bsonx.NewDoc("a", nested(limits.StoredDepth))},
	}
	for _, c := range cases {
		for _, at := range []bool{true, false} {
			u, err := update.Parse(bsonx.Document(map[bool]bsonx.Doc{true: c.at, false: c.over}[at]), update.Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = u.Apply(doc, update.Env{Now: now})
			if want := map[bool]mongoerr.Code{true: 0, false: mongoerr.Overflow}[at]; mongoerr.CodeOf(err) != want {
				t.Errorf("%s, at the limit %v: %v", c.name, at, err)
			}
		}
	}
	if _, err := update.PrepareInsert(bsonx.NewDoc("_id", 1, "a",
		nested(limits.StoredDepth-1)), nil, anyTime); err != nil {
		t.Error(err)
	}
	if _, err := update.PrepareInsert(bsonx.NewDoc("_id", 1, "a", nested(limits.StoredDepth)), nil,
		anyTime); mongoerr.CodeOf(err) != mongoerr.Overflow {
		t.Error(err)
	}
}

func TestSizeLimit(t *testing.T) {
	t.Parallel()
	fixed := len(bsonx.NewDoc("_id", 1, "s", ""))
	full := strings.Repeat("x", limits.DocumentBytes-fixed)
	doc := bsonx.NewDoc("_id", 1)
	for _, c := range []struct {
		text   string
		update mongoerr.Code
		upsert mongoerr.Code
		insert mongoerr.Code
	}{{full, 0, 0, 0}, {full + "x", 17419, 17420, mongoerr.BadValue}} {
		for _, spec := range []bsonx.Doc{bsonx.NewDoc("$set", bsonx.NewDoc("s", c.text)), bsonx.NewDoc("s", c.text)} {
			u, err := update.Parse(bsonx.Document(spec), update.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := u.Apply(doc, update.Env{Now: now}); mongoerr.CodeOf(err) != c.update {
				t.Errorf("update: %v", mongoerr.CodeOf(err))
			}
			if _, err := update.UpsertDoc(doc, u, update.Env{Now: now}); mongoerr.CodeOf(err) != c.upsert {
				t.Errorf("upsert: %v", mongoerr.CodeOf(err))
			}
		}
		if _, err := update.PrepareInsert(bsonx.NewDoc("_id", 1, "s", c.text), nil,
			anyTime); mongoerr.CodeOf(err) != c.insert {
			t.Errorf("insert: %v", mongoerr.CodeOf(err))
		}
	}
}

func TestBackfillLimit(t *testing.T) {
	t.Parallel()
	doc := bsonx.NewDoc("_id", 1, "a", bsonx.NewArray(1))
	out, _, err := parse(t, `{"$set":{"a.1500001":1}}`).Apply(doc, update.Env{Now: now})
	if mongoerr.CodeOf(err) != 17419 && err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if err == nil && out.Lookup("a").Doc().Len() != 1_500_002 {
		t.Error("wrong length")
	}
	if _, _, err := parse(t, `{"$set":{"a.1500002":1}}`).Apply(doc, update.Env{Now: now}); mongoerr.CodeOf(err) != 34 {
		t.Errorf("beyond the limit: %v", err)
	}
}

func TestBuffer(t *testing.T) {
	t.Parallel()
	buf := make([]byte, 0, 1024)
	for _, text := range []string{`{"$inc":{"n":1}}`, `{"$set":{"s":"longer"}}`} {
		out, changed, err := parse(t, text).Apply(bsonx.NewDoc("_id", 1, "n", 1), update.Env{Now: now, Buffer: buf})
		if err != nil || !changed || &out[0] != &buf[:1][0] {
			t.Errorf("%s: the buffer is not used: %v %v", text, changed, err)
		}
	}
}

// TestConcurrentUse applies one Update from many goroutines, for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	u := parse(t, `{"$inc":{"n":1},"$push":{"l":1},"$set":{"a.b":1}}`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			doc := bsonx.NewDoc("_id", i, "n", i, "l", bsonx.NewArray())
			for n := range 100 {
				out, _, err := u.Apply(doc, update.Env{Now: now})
				if err != nil {
					t.Error(err)
					return
				}
				doc = out
				if doc.Lookup("n").Int32() != int32(i+n+1) {
					t.Error("lost an increment")
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestObjectIDs(t *testing.T) {
	t.Parallel()
	a, err := update.PrepareInsert(bsonx.Empty, nil, anyTime)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := update.PrepareInsert(bsonx.Empty, nil, anyTime)
	if a.Lookup("_id").Type != bsonx.TypeObjectID || a.Equal(b) {
		t.Error("ids must differ")
	}
	doc := bsonx.NewDoc("_id", 1, "a", 1)
	if same, _ := update.PrepareInsert(doc, nil, anyTime); &same[0] != &doc[0] {
		t.Error("an ordinary document is not copied")
	}
	twice := bsonx.NewDoc("_id", 1, "_id", 2)
	if _, err := update.PrepareInsert(twice, nil, anyTime); mongoerr.CodeOf(err) != mongoerr.BadValue {
		t.Error(err)
	}
}

func anyTime() (t, i uint32) { return 1, 1 }
