package catalog_test

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/catalog"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// TestW082 turns rows of entities, attributes and values, in which some relational shops store
// their products, into a product.
func TestW082(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	var rows []bson.D
	for i, r := range [][2]string{
		{"type", "Audio Album"},
		{"title", "A Love Supreme"},
		{"artist", "John Coltrane"},
		{"genre", "Jazz"},
		{"genre", "General"},
	} {
		rows = append(rows, bson.D{{"_id", i}, {"entity", "sku_00e8da9b"}, {"attribute", r[0]}, {"value", r[1]}})
	}
	if _, err := db.Collection("rows").InsertMany(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	group := func(by any, into string, what any) bson.D {
		return bson.D{{"$group", bson.D{{"_id", by}, {into, bson.D{{"$push", what}}}}}}
	}
	one := bson.D{{"$cond", bson.A{
		bson.D{{"$eq", bson.A{bson.D{{"$size", "$values"}}, 1}}},
		bson.D{{"$arrayElemAt", bson.A{"$values", 0}}},
		"$values",
	}}}
	cur, err := db.Collection("rows").Aggregate(t.Context(), mongo.Pipeline{
		{{"$sort", bson.D{{"_id", 1}}}},
		group(bson.D{{"entity", "$entity"}, {"attribute", "$attribute"}}, "values", "$value"),
		group("$_id.entity", "fields", bson.D{{"k", "$_id.attribute"}, {"v", one}}),
		{{"$replaceWith", bson.D{{"$mergeObjects", bson.A{
			bson.D{{"sku", "$_id"}}, bson.D{{"$arrayToObject", "$fields"}},
		}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var folded []struct {
		SKU, Type, Title, Artist string
		Genre                    []string
	}
	if err := cur.All(t.Context(), &folded); err != nil || len(folded) != 1 {
		t.Fatalf("%v, %v", folded, err)
	}
	p, c := folded[0], open(t, db)
	save(t, c, &catalog.Product[Album]{SKU: p.SKU, Title: p.Title, Details: Album{Artist: p.Artist, Genre: p.Genre}})
	got, err := catalog.Get[Album](t.Context(), c, "sku_00e8da9b")
	if err != nil || got.Type != p.Type || got.Title != "A Love Supreme" || got.Details.Artist != "John Coltrane" ||
		fmt.Sprint(got.Details.Genre) != "[Jazz General]" {
		t.Errorf("%+v, %v", got, err)
	}
}
