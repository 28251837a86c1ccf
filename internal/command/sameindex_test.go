package command_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// TestSameIndexAgain creates an index again, with a partial filter or projection that is written
// differently and means the same.
func TestSameIndexAgain(t *testing.T) {
	t.Parallel()
	db := openWithTestCommands(t).Database("d")
	create := func(spec string) (note string, code int32) {
		t.Helper()
		index := bsonxtest.ParseD(t, spec)
		var reply struct{ Note string }
		err := db.RunCommand(t.Context(), bson.D{{"createIndexes", "c"}, {"indexes", bson.A{index}}}).Decode(&reply)
		return reply.Note, errorCode(t, err)
	}
	for _, c := range []struct {
		first       string
		same, other []string
	}{
		{
			`{"key": {"a": 1}, "name": "i", "partialFilterExpression": {"x": 1, "y": {"$gt": 2}}}`,
			[]string{
				`{"key": {"a": 1}, "name": "i", "partialFilterExpression": {"y": {"$gt": 2}, "x": {"$eq": 1.0}}}`,
				`{"key": {"a": 1}, "name": "i", "partialFilterExpression": {"$and": [{"x": 1}, {"y": {"$gt": 2}}]}}`,
			},
			[]string{
				`{"key": {"a": 1}, "name": "i", "partialFilterExpression": {"y": {"$gte": 2}, "x": 1}}`,
				`{"key": {"a": 1}, "name": "i"}`,
			},
		},
		{
			`{"key": {"$**": 1}, "name": "i", "wildcardProjection": {"a": {"b": 1}, "c": 1}}`,
			[]string{
				`{"key": {"$**": 1}, "name": "i", "wildcardProjection": {"c": true, "a.b": 5}}`,
			},
			[]string{
				`{"key": {"$**": 1}, "name": "i", "wildcardProjection": {"c": 0, "a.b": 0}}`,
				`{"key": {"$**": 1}, "name": "i", "wildcardProjection": {"c": 1}}`,
				`{"key": {"$**": 1}, "name": "i"}`,
			},
		},
	} {
		if note, code := create(c.first); note != "" || code != 0 {
			t.Fatalf("%s: %q, code %d", c.first, note, code)
		}
		for _, spec := range c.same {
			if note, code := create(spec); note != "all indexes already exist" || code != 0 {
				t.Errorf("%s: %q, code %d", spec, note, code)
			}
		}
		for _, spec := range c.other {
			if _, code := create(spec); code != 86 {
				t.Errorf("%s: code %d", spec, code)
			}
		}
		if err := db.Collection("c").Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNestedWildcardProjection checks that a wildcard index with a nested projection has exactly
// the paths of the projection.
func TestNestedWildcardProjection(t *testing.T) {
	t.Parallel()
	db := openWithTestCommands(t).Database("d")
	index := bson.D{
		{"key", bson.D{{"$**", 1}}},
		{"name", "w"},
		{"wildcardProjection", bson.D{{"a", bson.D{{"b", 1}}}}},
	}
	if err := db.RunCommand(t.Context(), bson.D{{"createIndexes", "c"}, {"indexes", bson.A{index}}}).Err(); err != nil {
		t.Fatal(err)
	}
	doc := bson.D{{"a", bson.D{{"b", 1}, {"c", 1}}}}
	if _, err := db.Collection("c").InsertOne(t.Context(), doc); err != nil {
		t.Fatal(err)
	}
	for path, examined := range map[string]int32{"a.b": 1, "a.c": 0} {
		var got struct {
			Stats struct {
				Returned int32 `bson:"nReturned"`
				Keys     int32 `bson:"totalKeysExamined"`
			} `bson:"executionStats"`
		}
		find := bson.D{{"find", "c"}, {"filter", bson.D{{path, 1}}}}
		if err := db.RunCommand(t.Context(), bson.D{{"explain", find}}).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.Stats.Returned != 1 || got.Stats.Keys != examined {
			t.Errorf("%s: %+v", path, got.Stats)
		}
	}
}

// TestNearOutsideTheGrid runs $near from points inside and outside the range of 2d indexes. Points
// outside must be refused with error 16433.
func TestNearOutsideTheGrid(t *testing.T) {
	t.Parallel()
	db := openWithTestCommands(t).Database("d")
	c := db.Collection("c")
	if _, err := c.InsertOne(t.Context(), bson.D{{"p", bson.A{1, 1}}}); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]bson.D{"p": {{"p", "2d"}}, "q": {{"q", "2d"}}} {
		index := bson.D{{"key", key}, {"name", name}}
		if name == "q" {
			index = append(index, bson.E{"min", 0}, bson.E{"max", 10})
		}
		if err := db.RunCommand(t.Context(),
			bson.D{{"createIndexes", "c"}, {"indexes", bson.A{index}}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		field string
		x, y  float64
		code  int32
	}{
		{"p", 181, 0, 16433},
		{"p", 0, -180.5, 16433},
		{"p", 1e300, 0, 16433},
		{"p", 180, -180, 0},
		{"q", 10.5, 0, 16433},
		{"q", 10, 0, 0},
	} {
		near := bson.D{{test.field, bson.D{{"$near", bson.A{test.x, test.y}}}}}
		if code := errorCode(t,
			db.RunCommand(t.Context(), bson.D{{"find", "c"}, {"filter", near}}).Err()); code != test.code {
			t.Errorf("%v: code %d, want %d", near, code, test.code)
		}
	}
}
