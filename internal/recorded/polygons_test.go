package recorded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// side is the number of columns and rows of the lattice of TestPolygons.
const side = 9

// lattices are two lattices of a plane. On the second one the numbers are rounded.
var lattices = []struct {
	name         string
	origin, step float64
}{{"whole", 0, 1}, {"tenths", -0.5, 0.1}}

// TestPolygons checks which points of a lattice lie in polygons of the plane. The polygons' corners
// are on the lattice, so that points lie on edges of every direction.
func TestPolygons(t *testing.T) {
	t.Parallel()
	c := class{file: "polygons.txt", setup: func(t *testing.T, db *mongo.Database) {
		for _, l := range lattices {
			var docs bson.A
			for i := range side * side {
				place := bson.A{l.origin + float64(i/side)*l.step, l.origin + float64(i%side)*l.step}
				docs = append(docs, bson.D{{"_id", int32(i)}, {"g", place}})
			}
			must(t, db, bson.D{{"insert", l.name}, {"documents", docs}})
			must(t, db, bson.D{{"createIndexes", l.name}, {"indexes", bson.A{bson.D{
				{"key", bson.D{{"g", "2d"}}}, {"name", "g"},
			}}}})
		}
	}}
	for i := range 120 {
		places := corners(uint64(i))
		for _, l := range lattices {
			var polygon bson.A
			for _, p := range places {
				polygon = append(polygon, bson.A{l.origin + float64(p[0])*l.step, l.origin + float64(p[1])*l.step})
			}
			operator := []string{"$geoWithin", "$within"}[i%2]
			filter := bson.D{{
				"g",
				bson.D{{operator, bson.D{{"$polygon", polygon}}}},
			}}
			c.cases = append(c.cases, question{
				name: fmt.Sprint(l.name, " ", operator, " ", places),
				ask: func(ctx context.Context, db *mongo.Database) string {
					return sameByPlan(ctx, db, l.name, filter)
				},
			})
		}
	}
	check(t, c)
}

// corners returns the columns and rows of a polygon with three to five corners, some of which may
// be equal. Every third polygon is closed.
func corners(seed uint64) [][2]int {
	r := rand.New(rand.NewPCG(seed, 7))
	out := make([][2]int, 3+r.IntN(3))
	for i := range out {
		out[i] = [2]int{r.IntN(side), r.IntN(side)}
	}
	if seed%3 == 0 {
		out = append(out, out[0])
	}
	return out
}
