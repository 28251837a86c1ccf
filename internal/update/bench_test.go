package update_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/update"
)

// kilobyte returns a document of about 1 kB with ten fields. The number n is in the middle.
func kilobyte() bsonx.Doc {
	pairs := []any{"_id", bsonx.ObjectID([12]byte{1})}
	for i := range 8 {
		if i == 4 {
			pairs = append(pairs, "n", 1)
		}
		pairs = append(pairs, fmt.Sprintf("field%d", i), strings.Repeat("x", 100))
	}
	pairs = append(pairs, "sub", bsonx.NewDoc("a", 1, "b", 2), "list", bsonx.NewArray(1, 2, 3))
	return bsonx.NewDoc(pairs...)
}

func BenchmarkApply(b *testing.B) {
	doc := kilobyte()
	cases := []struct {
		name string
		u    bsonx.Doc
	}{
		{"inc", bsonx.NewDoc("$inc", bsonx.NewDoc("n", 1))},
		{"incNested", bsonx.NewDoc("$inc", bsonx.NewDoc("sub.b", 1))},
		{"set", bsonx.NewDoc("$set", bsonx.NewDoc("field2", "other"))},
		{"setNew", bsonx.NewDoc("$set", bsonx.NewDoc("new", "other"))},
		{"push", bsonx.NewDoc("$push", bsonx.NewDoc("list", 9))},
		{"four", bsonx.NewDoc("$set", bsonx.NewDoc("field2", "other", "field7", "x"), "$inc", bsonx.NewDoc("n", 1),
			"$push", bsonx.NewDoc("list", 9))},
		{"replace", kilobyte()},
	}
	for _, c := range cases {
		u, err := update.Parse(bsonx.Document(c.u), update.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			env := update.Env{Now: now}
			for b.Loop() {
				if _, _, err := u.Apply(doc, env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApplyBuffer increments a field and writes the result to a buffer of the caller.
func BenchmarkApplyBuffer(b *testing.B) {
	doc := kilobyte()
	u, err := update.Parse(bsonx.Document(bsonx.NewDoc("$inc", bsonx.NewDoc("n", 1))), update.Options{})
	if err != nil {
		b.Fatal(err)
	}
	env := update.Env{Now: now, Buffer: make([]byte, 2048)}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := u.Apply(doc, env); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	u := bsonx.Document(bsonx.NewDoc("$inc", bsonx.NewDoc("n", 1), "$set", bsonx.NewDoc("a.b", 1)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := update.Parse(u, update.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
