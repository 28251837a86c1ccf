package recorded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestVectors runs every vector on a database in memory. Only the cases in conformance/vectors.md
// may have another reply, and they must.
func TestVectors(t *testing.T) {
	t.Parallel()
	known := knownDifferences(t)
	for _, area := range Areas(t) {
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			client := sheaftest.New(t)
			for _, v := range Vectors(t, area) {
				if !sampled(v.Name) {
					continue
				}
				err := play(t.Context(), client, v)
				if err != nil && !known[v.Name] {
					t.Errorf("%s: %v", v.Name, err)
				}
				if err == nil && known[v.Name] {
					t.Errorf("%s agrees: take it out of conformance/vectors.md", v.Name)
				}
			}
		})
	}
}

func knownDifferences(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../conformance/vectors.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^- `([^`]+)`: ").FindAllStringSubmatch(string(text), -1) {
		known[m[1]] = true
	}
	return known
}

// play runs a vector on an empty database and describes the first reply that differs.
func play(ctx context.Context, client *mongo.Client, v Vector) error {
	if err := client.Database("vectors").Drop(ctx); err != nil {
		return err
	}
	for _, cmd := range v.Setup {
		reply, err := runRaw(ctx, client, cmd, nil)
		if err != nil {
			return err
		}
		if !reply.Lookup("ok").Truthy() || !reply.Lookup("writeErrors").IsMissing() {
			return fmt.Errorf("setup %s: %s", cmd, bson.Raw(reply))
		}
	}
	var cursors []int64
	for _, step := range v.Run {
		reply, err := runRaw(ctx, client, step.Command, cursors)
		if err != nil {
			return err
		}
		id, _ := reply.LookupPath("cursor", "id").AsInt64()
		cursors = append(cursors, id)
		want, got := bsonx.Doc(step.Reply), compared(reply, step.Pick)
		if !sameReply(want, got, v.Unordered) {
			return fmt.Errorf("command %s\nwant %s\n got %s", step.Command, step.Reply, bson.Raw(got))
		}
	}
	return nil
}

// runRaw runs a command and returns the reply, even of a failure. {"$cursor": n} in the command
// stands for the n-th cursor.
func runRaw(ctx context.Context, client *mongo.Client, raw bson.Raw, cursors []int64) (bsonx.Doc, error) {
	var cmd bson.D
	if err := bson.Unmarshal(raw, &cmd); err != nil {
		return nil, err
	}
	db := "vectors"
	cmd = slices.DeleteFunc(cmd, func(e bson.E) bool {
		if e.Key == "$db" {
			db = e.Value.(string)
		}
		return e.Key == "$db"
	})
	reply, err := client.Database(db).RunCommand(ctx, withCursors(cmd, cursors)).Raw()
	var failed mongo.CommandError
	switch {
	case errors.As(err, &failed):
		return bsonx.Doc(failed.Raw), nil
	case err != nil && reply == nil:
		return nil, err
	}
	return bsonx.Doc(reply), nil
}

func withCursors(v any, cursors []int64) any {
	switch v := v.(type) {
	case bson.D:
		if len(v) == 1 && v[0].Key == "$cursor" {
			return cursors[v[0].Value.(int32)]
		}
		for i := range v {
			v[i].Value = withCursors(v[i].Value, cursors)
		}
	case bson.A:
		for i := range v {
			v[i] = withCursors(v[i], cursors)
		}
	}
	return v
}

// comparedFields are the fields of a reply that are compared, in the order of the files. For the
// fields in the second list, only the given subfields are compared.
var comparedFields = []struct {
	name string
	only []string
}{
	{"n", nil},
	{"nModified", nil},
	{"nRemoved", nil},
	{"upserted", []string{"index", "_id"}},
	{"value", nil},
	{"values", nil},
	{"lastErrorObject", []string{"n", "updatedExisting", "upserted"}},
	{"results", nil},
	{"retval", nil},
	{"cursor", []string{"ns", "firstBatch", "nextBatch"}},
	{"createdCollectionAutomatically", nil},
	{"numIndexesBefore", nil},
	{"numIndexesAfter", nil},
	{"nIndexesWas", nil},
	{"writeErrors", []string{"index", "code"}},
	{"cursorsKilled", nil},
	{"cursorsNotFound", nil},
}

// compared reduces a reply to the fields that the files have.
func compared(reply bsonx.Doc, pick []string) bsonx.Doc {
	if !reply.Lookup("ok").Truthy() {
		code, _ := reply.Lookup("code").AsInt64()
		return bsonx.NewDoc("ok", int32(0), "code", int32(code))
	}
	out := []any{}
	if pick != nil {
		for _, path := range pick {
			if v := picked(bsonx.Document(reply), path); !v.IsMissing() {
				out = append(out, path, v)
			}
		}
		return bsonx.NewDoc(out...)
	}
	out = append(out, "ok", int32(1))
	for _, f := range comparedFields {
		v := reply.Lookup(f.name)
		switch {
		case v.IsMissing():
			continue
		case f.name == "cursor":
			v = cursorOf(v.Doc(), f.only)
		case f.name == "cursorsKilled" || f.name == "cursorsNotFound":
			v = bsonx.Int32(int32(v.Doc().Len()))
		case v.Type == bsonx.TypeArray && f.only != nil:
			elems := []any{}
			for _, e := range v.Doc().Values() {
				elems = append(elems, only(e.Doc(), f.only))
			}
			v = bsonx.NewArray(elems...)
		case v.Type == bsonx.TypeDocument && f.only != nil:
			v = only(v.Doc(), f.only)
		}
		out = append(out, f.name, v)
	}
	return bsonx.NewDoc(out...)
}

// picked returns the value at a dotted path. A number in the path is the index of an array element.
func picked(v bsonx.Value, path string) bsonx.Value {
	for key := range strings.SplitSeq(path, ".") {
		if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
			return bsonx.Missing
		}
		v = v.Doc().Lookup(key)
	}
	return v
}

// only returns the named fields of a document, in the order of the names.
func only(d bsonx.Doc, names []string) bsonx.Value {
	out := []any{}
	for _, name := range names {
		if v := d.Lookup(name); !v.IsMissing() {
			out = append(out, name, v)
		}
	}
	return bsonx.Document(bsonx.NewDoc(out...))
}

// cursorOf adds to the fields of a cursor whether it is open.
func cursorOf(d bsonx.Doc, names []string) bsonx.Value {
	kept := only(d, names)
	if !d.Lookup("id").Truthy() {
		return kept
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Fields(kept.Doc())
	b.Value("open", bsonx.True)
	b.End()
	return bsonx.Document(b.Bytes())
}

// sameReply compares replies. If unordered is set, it compares the batch of a cursor and values as
// sets.
func sameReply(want, got bsonx.Doc, unordered bool) bool {
	return sameFields(want, got, func(name string, w, g bsonx.Value) bool {
		switch {
		case unordered && name == "cursor" && w.Type == bsonx.TypeDocument && g.Type == w.Type:
			return sameFields(w.Doc(), g.Doc(), func(name string, w, g bsonx.Value) bool {
				if name == "firstBatch" || name == "nextBatch" {
					return sameSet(w.Doc().Values(), g.Doc().Values())
				}
				return same(w, g)
			})
		case unordered && name == "values" && w.Type == bsonx.TypeArray && g.Type == w.Type:
			return sameSet(w.Doc().Values(), g.Doc().Values())
		}
		return same(w, g)
	})
}

func sameFields(want, got bsonx.Doc, equal func(name string, want, got bsonx.Value) bool) bool {
	w, g := want.Iter(), got.Iter()
	for {
		more, other := w.Next(), g.Next()
		if !more || !other {
			return more == other
		}
		if string(w.Key()) != string(g.Key()) || !equal(string(w.Key()), w.Value(), g.Value()) {
			return false
		}
	}
}

func sameSet(want, got []bsonx.Value) bool {
	if len(want) != len(got) {
		return false
	}
	rest := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(rest, func(g bsonx.Value) bool { return same(w, g) })
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return true
}

// same compares type and value. Doubles may differ by a relative error of 1e-12.
func same(want, got bsonx.Value) bool {
	if want.Type != got.Type {
		return false
	}
	switch want.Type {
	case bsonx.TypeDouble:
		x, y := want.Double(), got.Double()
		return x == y || math.IsNaN(x) && math.IsNaN(y) ||
			math.Abs(x-y) <= 1e-12*max(math.Abs(x), math.Abs(y)) && !math.IsInf(x, 0) && !math.IsInf(y, 0)
	case bsonx.TypeDocument, bsonx.TypeArray:
		return sameFields(want.Doc(), got.Doc(), func(_ string, w, g bsonx.Value) bool { return same(w, g) })
	default:
		return string(want.Data) == string(got.Data)
	}
}
