package geo

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/torture"
)

// ring returns the coordinates of a circle of n vertices, in degrees around 0, 0.
func ring(n int, radius float64) string {
	var b strings.Builder
	for i := range n + 1 {
		angle := 2 * math.Pi * float64(i%n) / float64(n)
		fmt.Fprintf(&b, ",[%v,%v]", radius*math.Cos(angle), radius*math.Sin(angle))
	}
	return "[" + b.String()[1:] + "]"
}

// TestLooksAtOperation interrupts the operation at the first, at a middle and at the last check in
// each case. The error must be returned unchanged.
func TestLooksAtOperation(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	const n = 4000
	strict := `"crs":{"type":"name","properties":{"name":"urn:x-mongodb:crs:strictwinding:EPSG:4326"}}`
	stored := map[string]string{
		"points":   `{"type":"MultiPoint","coordinates":` + ring(n, 20) + `}`,
		"line":     `{"type":"LineString","coordinates":` + ring(n, 20) + `}`,
		"polygon":  `{"type":"Polygon","coordinates":[` + ring(n, 20) + `]}`,
		"hole":     `{"type":"Polygon","coordinates":[` + ring(n, 20) + `,` + ring(n, 10) + `]}`,
		"multiple": `{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":` + ring(n, 20) + `}]}`,
	}
	regions := map[string]string{
		"polygon": `{"type":"Polygon","coordinates":[` + ring(n, 21) + `]}`,
		"big":     `{"type":"Polygon","coordinates":[` + ring(n, 21) + `],` + strict + `}`,
	}
	center, err := ParsePoint(bsonxtest.ParseValue(t, `{"type":"Point","coordinates":[3,4]}`))
	if err != nil {
		t.Fatal(err)
	}
	for regionName, text := range regions {
		shape := bsonxtest.ParseValue(t, text)
		looksAt(t, regionName, func(r *interrupt.Running) error {
			_, err := ParseRegion("$geometry", shape, r)
			return err
		})
		region, err := ParseRegion("$geometry", shape, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range stored {
			v := bsonxtest.ParseValue(t, text)
			for what, ask := range map[string]func(*Geometry){
				"nothing":    func(*Geometry) {},
				"Contains":   func(g *Geometry) { region.Contains(g) },
				"Intersects": func(g *Geometry) { region.Intersects(g) },
				"Distance":   func(g *Geometry) { g.Distance(&center) },
			} {
				looksAt(t, regionName+", "+name+": "+what, func(r *interrupt.Running) error { return asked(v, r, ask) })
			}
		}
	}
}

func asked(v bsonx.Value, r *interrupt.Running, ask func(*Geometry)) error {
	var g Geometry
	if err := g.ParseStored(v, r); err != nil {
		return err
	}
	ask(&g)
	return g.Ended()
}

func looksAt(t *testing.T, name string, do func(*interrupt.Running) error) {
	t.Helper()
	var r interrupt.Running
	op := interrupttest.New(t.Context())
	r.Set(op)
	if err := do(&r); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if op.Looks == 0 {
		t.Errorf("%s: no look", name)
	}
	for _, i := range []int{0, op.Looks / 2, op.Looks - 1} {
		r.Set(interrupttest.EndAfter(t.Context(), i))
		if err := do(&r); !errors.Is(err, interrupttest.ErrEnded) {
			t.Errorf("%s: %v after %d of %d looks", name, err, i, op.Looks)
		}
	}
}
