package metamorphic

import (
	"math"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func isNear(op bson.D) bool {
	s := text(op)
	return strings.Contains(s, `"$near`) || strings.Contains(s, `"$geoNear"`)
}

// newNear parses a find with $near, or an aggregate that begins with $geoNear, in the form that gen
// makes.
func newNear(op bson.D) *ranked {
	r := &ranked{op: op, sign: 1}
	var path, prefix string
	var near any
	var bounds bson.D
	if op[0].Key == "find" {
		filter := document(op, "filter")
		last := filter[len(filter)-1]
		path, bounds, prefix = last.Key, last.Value.(bson.D), "$"
		if near = bounds[0].Value; path != "flat" {
			bounds = near.(bson.D)
			near = bounds[0].Value
		}
		r.rest = filter[:len(filter)-1]
		r.limit = int(whole(lookup(op, "limit")))
	} else {
		stages := lookup(op, "pipeline").(bson.A)
		bounds = document(stages[0].(bson.D), "$geoNear")
		path, near, r.rest, r.shown = lookup(bounds, "key").(string), lookup(bounds,
			"near"), document(bounds, "query"), "far"
		if len(stages) > 1 {
			r.limit = int(whole(lookup(stages[1].(bson.D), "$limit")))
		}
	}
	least, most := float(lookup(bounds, prefix+"minDistance")), float(lookup(bounds, prefix+"maxDistance"))
	from := center(near)
	r.rank = func(doc bson.D) (float64, bool) {
		d := math.Inf(1)
		reached(doc, strings.Split(path, "."), func(v any) { d = min(d, from(v)) })
		return d, !math.IsInf(d, 1) && !(d < least) && !(d > most)
	}
	return r
}

func whole(v any) float64 {
	if f := float(v); !math.IsNaN(f) {
		return f
	}
	return 0
}

const earthRadius = 6378100

// center returns a function that computes the distance of a value from near. The distance is in
// meters if near is a GeoJSON point, and in the units of a plane if it is a pair. It is infinite
// for a value that is not a place.
func center(near any) func(any) float64 {
	if pair, ok := near.(bson.A); ok {
		return func(v any) float64 {
			if to, ok := asPair(v); ok {
				return math.Hypot(to[0]-float(pair[0]), to[1]-float(pair[1]))
			}
			return math.Inf(1)
		}
	}
	p := unit(lookup(near.(bson.D), "coordinates"))
	return func(v any) float64 { return earthRadius * angleTo(p, v) }
}

// asPair returns the two coordinates of a pair, which may be an array or a document.
func asPair(v any) ([2]float64, bool) {
	var x, y any
	switch v := v.(type) {
	case bson.A:
		if len(v) == 2 {
			x, y = v[0], v[1]
		}
	case bson.D:
		if len(v) == 2 {
			x, y = v[0].Value, v[1].Value
		}
	}
	out := [2]float64{float(x), float(y)}
	return out, !math.IsNaN(out[0]) && !math.IsNaN(out[1])
}

// vec is a point of the unit sphere.
type vec [3]float64

// unit returns the point of two coordinates.
func unit(coordinates any) vec {
	p, _ := asPair(coordinates)
	lng, lat := p[0]*math.Pi/180, p[1]*math.Pi/180
	return vec{math.Cos(lat) * math.Cos(lng), math.Cos(lat) * math.Sin(lng), math.Sin(lat)}
}

func cross(a, b vec) vec {
	return vec{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

func dot(a, b vec) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func norm(a vec) float64 { return math.Sqrt(dot(a, a)) }

func angle(a, b vec) float64 { return math.Atan2(norm(cross(a, b)), dot(a, b)) }

// angleTo returns the angle between a point and the nearest of a geometry.
func angleTo(p vec, v any) float64 {
	if _, ok := asPair(v); ok {
		return angle(p, unit(v))
	}
	d, ok := v.(bson.D)
	if !ok {
		return math.Inf(1)
	}
	least := math.Inf(1)
	coordinates, _ := lookup(d, "coordinates").(bson.A)
	switch lookup(d, "type") {
	case "Point":
		return angle(p, unit(coordinates))
	case "MultiPoint":
		for _, c := range coordinates {
			least = min(least, angle(p, unit(c)))
		}
	case "LineString":
		least = toLine(p, coordinates)
	case "Polygon":
		inside := isInside(p, coordinates[0].(bson.A))
		for i, ring := range coordinates {
			least = min(least, toLine(p, ring.(bson.A)))
			inside = inside && (i == 0 || !isInside(p, ring.(bson.A)))
		}
		if inside {
			return 0
		}
	case "GeometryCollection":
		for _, g := range lookup(d, "geometries").(bson.A) {
			least = min(least, angleTo(p, g))
		}
	}
	return least
}

// toLine returns the angle to the nearest point of the edges between the points.
func toLine(p vec, line bson.A) float64 {
	least := math.Inf(1)
	for i := range line[1:] {
		a, b := unit(line[i]), unit(line[i+1])
		least = min(least, angle(p, a), angle(p, b))
		n := cross(a, b)
		if dot(cross(n, a), p) > 0 && dot(cross(b, n), p) > 0 {
			least = min(least, math.Atan2(math.Abs(dot(n, p)), norm(cross(n, p))))
		}
	}
	return least
}

// isInside reports whether a point is within a convex ring.
func isInside(p vec, ring bson.A) bool {
	left, right := 0, 0
	for i := range ring[1:] {
		a := unit(ring[i])
		if dot(a, p) < 0 {
			return false
		}
		if dot(cross(a, unit(ring[i+1])), p) >= 0 {
			left++
		} else {
			right++
		}
	}
	return left == 0 || right == 0
}
