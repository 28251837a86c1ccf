package plan_test

import "testing"

// BenchmarkKinds finds documents by equality, ten for each value, through the kinds of index.
func BenchmarkKinds(b *testing.B) {
	f := benchFixture(b, 20_000)
	f.index("h", doc(`{"b": "hashed"}`))
	f.index("w", doc(`{"$**": 1}`), "wildcardProjection", doc(`{"b": 1, "g": 1, "d": 1}`))
	f.index("cw", doc(`{"c": 1, "$**": 1}`), "wildcardProjection", doc(`{"g": 1, "b": 1}`))
	f.index("g_1", doc(`{"g": 1}`))
	f.index("g_hashed", doc(`{"g": "hashed"}`))
	f.index("cg", doc(`{"c": 1, "g": 1}`))
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
			q.Hint = doc(`{"v": "` + bm.hint + `"}`).Lookup("v")
			b.ReportAllocs()
			for b.Loop() {
				f.exhaust(b, q)
			}
		})
	}
}
