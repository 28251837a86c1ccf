package collation_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
)

func BenchmarkParse(b *testing.B) {
	spec := bsonx.NewDoc("locale", "en", "strength", 2)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := collation.Parse(spec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	c, err := collation.Parse(bsonx.NewDoc("locale", "en", "strength", 2))
	if err != nil {
		b.Fatal(err)
	}
	for name, pair := range map[string][2]string{
		"ascii":   {"Gonzales, Maria", "GONZALEZ, Maria"},
		"accents": {"González, María", "GONZÁLEZ, Maria"},
	} {
		b.Run(name, func(b *testing.B) {
			x, y := bsonx.String(pair[0]), bsonx.String(pair[1])
			b.ReportAllocs()
			for b.Loop() {
				c.CompareValues(x, y)
			}
		})
	}
}
