package table_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

func TestOplog(t *testing.T) {
	ctx := context.Background()
	s := schematest.OpenLogged(t, mem.New(), table.Options{})
	defer s.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := schema.Create(s, "d", "c", catalog.KindCollection,
		bsonx.NewDoc("changeStreamPreAndPostImages", bsonx.NewDoc("enabled", true)))
	must(err)
	must(schema.CreateIndexes(ctx, s, c, []bsonx.Doc{bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("a", 1), "name", "a_1")}))
	w, err := s.BeginWrite(s.Current(c))
	must(err)
	first, second := bsonx.NewDoc("_id", 1, "a", 1, "text", "some text"),
		bsonx.NewDoc("_id", 1, "a", 2, "text", "some text")
	must(w.Insert(ctx, first))
	must(w.Insert(ctx, bsonx.NewDoc("_id", 2)))
	key := w.Collection().RecordKey(nil, bsonx.Int32(1))
	must(w.Update(ctx, key, first, second, table.Modification))
	must(w.Update(ctx, key, second, bsonx.NewDoc("_id", 1), table.Rewriting))
	must(w.Update(ctx, key, bsonx.NewDoc("_id", 1), second, table.Replacement))
	must(w.Delete(key, second))
	must(w.Commit(storage.Buffered))
	w.Close()
	w, err = s.BeginWrite(s.Current(c))
	must(err)
	must(w.Insert(ctx, bsonx.NewDoc("_id", 3)))
	w.Close() // not committed, so not logged
	must(schema.Modify(s, s.Current(c), &schema.CollMod{Options: bsonx.NewDoc("validationLevel", "off")}))
	must(schema.DropIndexes(s, s.Current(c), "a_1"))
	must(rename(s, s.Current(c), "d", "e", false))
	must(schema.Drop(s, s.Lookup("d", "e")))
	_, err = schema.DropDatabase(t.Context(), s, "d")
	must(err)
	_, err = schema.Create(s, "local", "x", catalog.KindCollection, nil)
	must(err)
	want := []string{
		`{"op": "n","ns": "","o": {"msg": "initiating set"}}`,
		`{"op": "c","ns": "d.$cmd","o": {"create": "c","changeStreamPreAndPostImages": {"enabled": true},"idIndex": {"v": {"$numberInt":"2"},"key": {"_id": {"$numberInt":"1"}},"name": "_id_"}}}`,
		`{"op": "c","ns": "d.$cmd","o": {"createIndexes": "c","v": {"$numberInt":"2"},"key": {"a": {"$numberInt":"1"}},"name": "a_1"}}`,
		`{"op": "i","ns": "d.c","o": {"_id": {"$numberInt":"1"},"a": {"$numberInt":"1"},"text": "some text"},"o2": {"_id": {"$numberInt":"1"}}}`,
		`{"op": "i","ns": "d.c","o": {"_id": {"$numberInt":"2"}},"o2": {"_id": {"$numberInt":"2"}}}`,
		`{"op": "u","ns": "d.c","o": {"$v": {"$numberInt":"2"},"diff": {"u": {"a": {"$numberInt":"2"}}}},"o2": {"_id": {"$numberInt":"1"}},"preImage": {"_id": {"$numberInt":"1"},"a": {"$numberInt":"1"},"text": "some text"}}`,
		`{"op": "u","ns": "d.c","o": {"_id": {"$numberInt":"1"}},"o2": {"_id": {"$numberInt":"1"}},"preImage": {"_id": {"$numberInt":"1"},"a": {"$numberInt":"2"},"text": "some text"}}`,
		`{"op": "u","ns": "d.c","o": {"_id": {"$numberInt":"1"},"a": {"$numberInt":"2"},"text": "some text"},"o2": {"_id": {"$numberInt":"1"}},"preImage": {"_id": {"$numberInt":"1"}}}`,
		`{"op": "d","ns": "d.c","o": {"_id": {"$numberInt":"1"}},"preImage": {"_id": {"$numberInt":"1"},"a": {"$numberInt":"2"},"text": "some text"}}`,
		`{"op": "c","ns": "d.$cmd","o": {"collMod": "c","validationLevel": "off","changeStreamPreAndPostImages": {"enabled": false}},"o2": {"collectionOptions_old": {"changeStreamPreAndPostImages": {"enabled": true}}}}`,
		`{"op": "c","ns": "d.$cmd","o": {"dropIndexes": "c","index": "a_1"},"o2": {"v": {"$numberInt":"2"},"key": {"a": {"$numberInt":"1"}},"name": "a_1"}}`,
		`{"op": "c","ns": "d.$cmd","o": {"renameCollection": "d.c","to": "d.e","stayTemp": false}}`,
		`{"op": "c","ns": "d.$cmd","o": {"drop": "e"},"o2": {"numRecords": {"$numberLong":"1"}}}`,
	}
	wantEntries(t, s, want)
}

func wantEntries(t *testing.T, s *table.Store, want []string) {
	t.Helper()
	got := schematest.Entries(t, s)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("no entry %s", want[i])
		case i >= len(want):
			t.Errorf("entry too many: %s", got[i])
		case got[i] != want[i]:
			t.Errorf("entry %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

// TestOplogOfCopies checks the oplog entries of a conversion, of a copy and of evictions.
func TestOplogOfCopies(t *testing.T) {
	ctx := context.Background()
	s := schematest.OpenLogged(t, mem.New(), table.Options{})
	defer s.Close()
	c, err := schema.Create(s, "d", "c", catalog.KindCollection, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", i)); err != nil {
			t.Fatal(err)
		}
	}
	from := len(schematest.Entries(t, s))
	limits := bsonx.NewDoc("capped", true, "size", 4096, "max", 2)
	if err := schema.Convert(ctx, s, c, limits); err != nil {
		t.Fatal(err)
	}
	if err := schema.Clone(ctx, s, s.Lookup("d", "c"), "d", "x", bsonx.Empty); err != nil {
		t.Fatal(err)
	}
	if err := schematest.Insert(s, s.Lookup("d", "c"), bsonx.NewDoc("_id", 4)); err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`tmp\.convertToCapped\.\w+`)
	uuids := regexp.MustCompile(`"dropTarget": \{.*?\}\}`)
	var got []string
	for _, entry := range schematest.Entries(t, s)[from:] {
		got = append(got, uuids.ReplaceAllString(names.ReplaceAllString(entry, "tmp"), `"dropTarget": …`))
	}
	index := `"idIndex": {"v": {"$numberInt":"2"},"key": {"_id": {"$numberInt":"1"}},"name": "_id_"}`
	doc := func(id int) string { return fmt.Sprintf(`{"_id": {"$numberInt":"%d"}}`, id) }
	insertion := func(ns string, id int) string {
		return fmt.Sprintf(`{"op": "i","ns": "d.%s","o": %s,"o2": %s}`, ns, doc(id), doc(id))
	}
	want := []string{
		`{"op": "c","ns": "d.$cmd","o": {"create": "tmp","capped": true,"size": {"$numberInt":"4096"},"max": {"$numberInt":"2"},` + index + `}}`,
		insertion("tmp", 2), insertion("tmp", 3), // earlier documents would be evicted again
		`{"op": "c","ns": "d.$cmd","o": {"renameCollection": "d.tmp","to": "d.c","stayTemp": false,"dropTarget": …}}`,
		`{"op": "c","ns": "d.$cmd","o": {"create": "tmp",` + index + `}}`,
		insertion("tmp", 2), insertion("tmp", 3),
		`{"op": "c","ns": "d.$cmd","o": {"renameCollection": "d.tmp","to": "d.x","stayTemp": true}}`,
		insertion("c", 4), `{"op": "d","ns": "d.c","o": ` + doc(2) + `}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOplogGoesOn(t *testing.T) {
	engine := mem.New()
	s := schematest.OpenLogged(t, engine, table.Options{})
	if err := s.Log().Noop(bsonx.NewDoc("n", 1)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	// The clock now shows a time before the last entry: stamps must still increase.
	s = schematest.OpenLogged(t, engine, table.Options{Clock: clock.Fixed(time.Unix(500, 0))})
	if err := s.Log().Noop(bsonx.NewDoc("n", 2)); err != nil {
		t.Fatal(err)
	}
	if got := schematest.Entries(t, s); len(got) != 3 {
		t.Errorf("the log has %q", got)
	}
	s.Close()
	// A store that does not log drops the oplog, which would have a gap.
	s, err := schema.Open(engine, schematest.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Lookup("local", "oplog.rs") != nil || s.Oplog() != nil {
		t.Error("the log is still there")
	}
	s.Close()
}

func TestOplogIsProtected(t *testing.T) {
	s := schematest.OpenLogged(t, mem.New(), table.Options{})
	defer s.Close()
	c := s.Oplog()
	_, err := s.BeginWrite(c)
	for name, err := range map[string]error{
		"write": err, "drop": schema.Drop(s, c), "rename": rename(s, c, "d", "c", false),
		"convert": schema.Convert(context.Background(), s, c, nil),
		"index": schema.CreateIndexes(context.Background(), s, c,
			[]bsonx.Doc{bsonx.NewDoc("key", bsonx.NewDoc("a", 1), "name", "a_1")}),
	} {
		if code := mongoerr.CodeOf(err); code != mongoerr.IllegalOperation && code != mongoerr.InvalidNamespace {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOplogKeepsItsLimits(t *testing.T) {
	engine := mem.New()
	limits := func(s *table.Store, size int64, retention time.Duration) {
		t.Helper()
		if n, d := s.OplogLimits(); n != size || d != retention {
			t.Errorf("%d bytes for %s, not %d for %s", n, d, size, retention)
		}
	}
	s := schematest.OpenLogged(t, engine, table.Options{OplogSize: 1 << 20})
	limits(s, 1<<20, 0)
	if err := s.ResizeOplog(2<<20, 90*time.Minute); err != nil {
		t.Fatal(err)
	}
	limits(s, 2<<20, 90*time.Minute)
	s.Close()
	// The size option applies only to a new oplog.
	s = schematest.OpenLogged(t, engine, table.Options{OplogSize: 1 << 20})
	defer s.Close()
	limits(s, 2<<20, 90*time.Minute)
	if err := s.ResizeOplog(3<<20, 0); err != nil {
		t.Fatal(err)
	}
	if options := s.Oplog().Options; !options.Lookup("minRetentionHours").IsMissing() {
		t.Errorf("options %v", bson.Raw(options))
	}
}

func TestOplogIsTrimmed(t *testing.T) {
	const size = 100 << 10
	s := schematest.OpenLogged(t, mem.New(), table.Options{OplogSize: size})
	c, err := schema.Create(s, "d", "c", catalog.KindCollection, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := schematest.Insert(s, c,
			bsonx.NewDoc("_id", i, "x", string(bytes.Repeat([]byte("x"), 1000)))); err != nil {
			t.Fatal(err)
		}
	}
	counted := func() storage.Counter {
		n, err := s.Count(s.Oplog())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for start := time.Now(); counted().Bytes > size; time.Sleep(time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("the log has %d bytes", counted().Bytes)
		}
	}
	s.Close()
	left := schematest.Entries(t, s)
	if n := counted(); int64(len(left)) != n.Count || n.Bytes < size*8/10 {
		t.Errorf("%d entries, counted %+v", len(left), n)
	}
	if last := `"_id": {"$numberInt":"999"}`; !bytes.Contains([]byte(left[len(left)-1]), []byte(last)) {
		t.Errorf("the last entry is %.100s", left[len(left)-1])
	}
}
