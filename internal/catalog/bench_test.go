package catalog

import (
	"strconv"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage/mem"
)

// BenchmarkLookup looks up one of 200 collections, as every command does.
func BenchmarkLookup(b *testing.B) {
	c, err := Open[any](mem.New(), nil)
	if err != nil {
		b.Fatal(err)
	}
	names := make([]string, 200)
	err = c.Update(func(ch *Change[any]) error {
		for i := range names {
			names[i] = "collection" + strconv.Itoa(i)
			ch.Put(&Collection[any]{
				ID: ch.NewID(), DB: "db", Name: names[i],
				Kind: KindCollection, Options: bsonx.Empty,
			})
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if c.Lookup("db", names[i%len(names)]) == nil {
			b.Fatal("not found")
		}
	}
}
