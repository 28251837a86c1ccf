package plan_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/exec"
)

// placesFixture returns a collection of places in clusters, like cities, with a geo index.
func placesFixture(b *testing.B, size int) *fixture {
	f := newFixture(b)
	rng := rand.New(rand.NewPCG(1, 2))
	docs := make([]bsonx.Doc, size)
	lng, lat := 0.0, 0.0
	for i := range docs {
		if i%50 == 0 {
			lng, lat = rng.Float64()*340-170, rng.Float64()*150-75
		}
		at := bsonx.NewArray(lng+rng.NormFloat64(), lat+rng.NormFloat64())
		docs[i] = bsonx.NewDoc("_id", i, "name", "a place", "loc",
			bsonx.Document(bsonx.NewDoc("type", "Point", "coordinates", at)))
	}
	f.insert(docs...)
	f.index("geo", bsonxtest.MustParse(`{"loc":"2dsphere"}`))
	return f
}

func drain(b *testing.B, f *fixture, filter string, limit int64) (n int) {
	q := f.query(filter)
	q.Limit = limit
	r := exec.NewReader(f.store.Newest())
	defer func() { _ = r.Close() }()
	e, err := f.planner.Find(context.Background(), q, r)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for {
		row, err := e.Next(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if row == nil {
			return n
		}
		n++
	}
}

func BenchmarkNear(b *testing.B) {
	f := placesFixture(b, 50000)
	b.ReportAllocs()
	for b.Loop() {
		if drain(b, f, `{"loc":{"$near":{"$geometry":{"type":"Point","coordinates":[10,10]}}}}`, 20) != 20 {
			b.Fatal("not found")
		}
	}
}

func BenchmarkGeoWithin(b *testing.B) {
	f := placesFixture(b, 50000)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += drain(b, f, `{"loc":{"$geoWithin":{"$geometry":{"type":"Polygon","coordinates":[[[0,0],[20,-10],[45,0],[50,20],[40,40],[10,35],[0,0]]]}}}}`, 0)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "points/s")
}
