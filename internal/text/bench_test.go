package text

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// BenchmarkScore scores documents of 100 words that are drawn as in a natural text.
func BenchmarkScore(b *testing.B) {
	spec, err := NewSpec(bsonx.NewDoc("key", bsonx.NewDoc("_fts", "text", "_ftsx", 1), "weights", bsonx.NewDoc("s", 1)))
	if err != nil {
		b.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rnd, 1.1, 4, 20000)
	docs := make([]bsonx.Doc, 1000)
	for i := range docs {
		var s strings.Builder
		for range 100 {
			n := zipf.Uint64()
			for ; n > 0; n /= 20 {
				s.WriteByte("bcdfghjklmnpqrstvwxz"[n%20])
				s.WriteByte("aeiou"[n%5])
			}
			s.WriteByte(' ')
		}
		docs[i] = bsonx.NewDoc("s", s.String())
	}
	var sc Scorer
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if err := sc.Score(spec, docs[i%len(docs)]); err != nil {
			b.Fatal(err)
		}
	}
}
