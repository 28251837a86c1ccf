package recorded

import (
	"context"
	"fmt"
	"math"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

type flatCircle struct{ x, y, radius float64 }

func circles() []flatCircle {
	var out []flatCircle
	for _, center := range [][2]float64{
		{0, 0},
		{10, 10},
		{1, 1},
		{0.1, 0.1},
		{100, -50},
		{1000, 3},
		{3, 0},
		{-12.7, 4.3},
	} {
		for _, radius := range []float64{0.1, 0.5, 1.3, 5, 50, 0.001} {
			out = append(out, flatCircle{center[0], center[1], radius})
		}
	}
	return out
}

// onAndBeside returns points on the circle, within floating-point precision, and their nearest
// representable neighbours.
func (c flatCircle) onAndBeside() []bson.A {
	var out []bson.A
	for _, way := range [][2]float64{
		{1, 0},
		{-1, 0},
		{0, 1},
		{0, -1},
		{0.6, 0.8},
		{-0.8, 0.6},
		{math.Sqrt2 / 2, -math.Sqrt2 / 2},
	} {
		x, y := c.x+way[0]*c.radius, c.y+way[1]*c.radius
		out = append(out, bson.A{x, y}, bson.A{math.Nextafter(x, math.Inf(1)), y},
			bson.A{math.Nextafter(x, math.Inf(-1)), y},
			bson.A{x, math.Nextafter(y, math.Inf(1))}, bson.A{x, math.Nextafter(y, math.Inf(-1))})
	}
	return out
}

// TestCircles queries points on a circle, with and without a 2d index.
func TestCircles(t *testing.T) {
	t.Parallel()
	c := class{file: "circles.txt", setup: func(t *testing.T, db *mongo.Database) {
		for n, circle := range circles() {
			var docs bson.A
			for i, p := range circle.onAndBeside() {
				docs = append(docs, bson.D{{"_id", int32(i)}, {"g", p}})
			}
			coll := fmt.Sprint("circle", n)
			must(t, db, bson.D{{"insert", coll}, {"documents", docs}})
			must(t, db, bson.D{{"createIndexes", coll}, {"indexes", bson.A{bson.D{
				{"key", bson.D{{"g", "2d"}}},
				{"name", "g"},
				{"min", -2000},
				{"max", 2000},
			}}}})
		}
	}}
	for n, circle := range circles() {
		for _, operator := range []string{"$geoWithin", "$within"} {
			filter := bson.D{{"g", bson.D{{operator, bson.D{
				{"$center", bson.A{bson.A{circle.x, circle.y}, circle.radius}},
			}}}}}
			c.cases = append(c.cases, question{
				name: fmt.Sprintf("%s %v", operator, circle),
				ask: func(ctx context.Context, db *mongo.Database) string {
					return sameByPlan(ctx, db, fmt.Sprint("circle", n), filter)
				},
			})
		}
	}
	check(t, c)
}

// TestNearAcross searches by distance around longitude 180, where a map of the plane ends.
func TestNearAcross(t *testing.T) {
	t.Parallel()
	c := class{file: "across.txt", setup: func(t *testing.T, db *mongo.Database) {
		var docs bson.A
		for i, p := range []bson.A{
			{179.9, 0},
			{-179.5, 1},
			{180, 2},
			{-180, 3},
			{170, 4},
			{-170, 5},
			{0, 0},
			{10, 80},
			{-160, 81},
			{100, 0},
			{-100, 6},
			{175, 79},
			{-174, -78},
		} {
			docs = append(docs, bson.D{{"_id", int32(i)}, {"g", p}})
		}
		must(t, db, bson.D{{"insert", "c"}, {"documents", docs}})
		must(t, db, bson.D{{"createIndexes", "c"}, {"indexes", bson.A{
			bson.D{{"key", bson.D{{"g", "2d"}}}, {"name", "g"}},
		}}})
	}}
	for _, center := range []bson.A{
		{-179.8, 0.3},
		{179.7, 0.2},
		{180, -0.4},
		{-180, 0.6},
		{175, 1.1},
		{0.1, 0.3},
		{-90, 10},
	} {
		for _, most := range []float64{0.001, 0.05, 0.2, 1, 2, 3.2} {
			near := bson.D{{"$nearSphere", center}, {"$maxDistance", most}}
			c.cases = append(c.cases, question{
				name: fmt.Sprint(center, " up to ", most),
				ask: func(ctx context.Context, db *mongo.Database) string {
					return inOrder(ctx, db,
						bson.D{{"find", "c"}, {"filter", bson.D{{"g", near}}}})
				},
			})
		}
	}
	check(t, c)
}

// inOrder returns the _ids of a find's documents in the returned order.
func inOrder(ctx context.Context, db *mongo.Database, cmd bson.D) string {
	reply, failed := run(ctx, db, append(cmd, bson.E{"batchSize", 100_000}))
	if failed != "" {
		return failed
	}
	docs, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
	out := make([]string, 0, len(docs))
	for _, doc := range docs {
		out = append(out, doc.Document().Lookup("_id").String())
	}
	return fmt.Sprint(out)
}
