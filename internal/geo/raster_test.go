package geo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// TestRaster requires that the fields of a region give the same result as the region itself.
func TestRaster(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	wrap := func(lng float64) float64 { return math.Mod(lng+540, 360) - 180 }
	ring := func(lng, lat, radius float64) string {
		out, first := "", ""
		corners := 3 + rng.IntN(9)
		for i := range corners {
			at := 2 * math.Pi * float64(i) / float64(corners)
			far := radius * (0.5 + rng.Float64()/2)
			out += fmt.Sprintf("[%v,%v],", wrap(lng+far*math.Cos(at)), lat+far*math.Sin(at))
			if i == 0 {
				first = out[:len(out)-1]
			}
		}
		return "[" + out + first + "]"
	}
	inside, outside, unknown := 0, 0, 0
	for range 60 {
		lng, lat, radius := 360*rng.Float64()-180, 140*rng.Float64()-70, math.Pow(10, 3*rng.Float64()-2)
		polygon := "[" + ring(lng, lat, radius) + "," + ring(lng, lat, radius/4) + "]"
		shape := fmt.Sprintf(`{"type":"Polygon","coordinates":%s}`, polygon)
		if rng.IntN(3) == 0 {
			shape = fmt.Sprintf(`{"type":"MultiPolygon","coordinates":[%s,[%s]]}`, polygon,
				ring(wrap(lng+3*radius), lat, radius))
		}
		r, err := ParseRegion("$geometry", bsonxtest.ParseValue(t, shape), nil)
		if err != nil {
			t.Fatal(shape, err)
		}
		for range 1500 {
			text := fmt.Sprintf(`{"type":"Point","coordinates":[%v,%v]}`, wrap(lng+3*radius*(rng.Float64()-0.5)),
				lat+3*radius*(rng.Float64()-0.5))
			has, known := r.HasPoint(bsonxtest.ParseValue(t, text))
			if !known {
				unknown++
				continue
			}
			g := geometry(t, text)
			if r.Contains(g) != has || r.Intersects(g) != has {
				t.Fatalf("%s in %s: %v by the field", text, shape, has)
			}
			if has {
				inside++
			} else {
				outside++
			}
		}
	}
	if inside < 4000 || outside < 4000 {
		t.Errorf("%d inside, %d outside, %d unknown", inside, outside, unknown)
	}
	t.Logf("%d inside, %d outside, %d unknown", inside, outside, unknown)
}
