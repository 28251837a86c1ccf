package plan_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// BenchmarkKinds finds documents by equality, ten for each value, with each kind of index.
func BenchmarkKinds(b *testing.B) {
	f := benchFixture(b, 20_000)
	f.index("h", bsonxtest.MustParse(`{"b": "hashed"}`))
	f.index("w", bsonxtest.MustParse(`{"$**": 1}`), "wildcardProjection",
		bsonxtest.MustParse(`{"b": 1, "g": 1, "d": 1}`))
	f.index("cw", bsonxtest.MustParse(`{"c": 1, "$**": 1}`), "wildcardProjection",
		bsonxtest.MustParse(`{"g": 1, "b": 1}`))
	f.index("g_1", bsonxtest.MustParse(`{"g": 1}`))
	f.index("g_hashed", bsonxtest.MustParse(`{"g": "hashed"}`))
	f.index("cg", bsonxtest.MustParse(`{"c": 1, "g": 1}`))
	for _, bm := range []struct{ name, filter, hint string }{
		{"One/Ordered", `{"g": "4711"}`, "g_1"},
		{"One/Hashed", `{"g": "4711"}`, "g_hashed"},
		{"One/Wildcard", `{"g": "4711"}`, "w"},
		{"Compound/Ordered", `{"c": 0, "g": "4711"}`, "cg"},
		{"Compound/Wildcard", `{"c": 0, "g": "4711"}`, "cw"},
		{"Many/Hashed", `{"b": 47}`, "h"},
		{"Many/Wildcard", `{"b": 47}`, "w"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			q := f.query(bm.filter)
			q.Hint = bsonxtest.MustParse(`{"v": "` + bm.hint + `"}`).Lookup("v")
			b.ReportAllocs()
			for b.Loop() {
				f.exhaust(b, q)
			}
		})
	}
}
