package schema_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/schema"
)

func someNames(t *testing.T) *schema.Names {
	t.Helper()
	names, err := schema.NewNames(map[string]string{
		"title": "t", "pricing": "p", "pricing.list": "l", "comments": "c", "comments.by": "b",
		"comments.at": "a", "deep.er": "e",
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestNames(t *testing.T) {
	t.Parallel()
	names := someNames(t)
	for _, c := range []struct{ long, short string }{
		{`{"title":"x","other":{"title":1}}`, `{"t":"x","other":{"title":1}}`},
		{`{"pricing":{"list":1,"retail":2}}`, `{"p":{"l":1,"retail":2}}`},
		{`{"pricing.list":{"$gt":5}}`, `{"p.l":{"$gt":5}}`},
		{`{"pricing.list":1,"title":-1}`, `{"p.l":1,"t":-1}`},
		{`{"comments":[{"by":"ann"},[{"by":"joe"}],3]}`, `{"c":[{"b":"ann"},[{"b":"joe"}],3]}`},
		{`{"$or":[{"title":"x"},{"comments.0.by":"y"}]}`, `{"$or":[{"t":"x"},{"c.0.b":"y"}]}`},
		{`{"comments":{"$elemMatch":{"by":"x","at":{"$lt":3}}}}`, `{"c":{"$elemMatch":{"b":"x","a":{"$lt":3}}}}`},
		{`{"$set":{"comments.$.by":"y","comments.$[].at":1}}`, `{"$set":{"c.$.b":"y","c.$[].a":1}}`},
		{`{"$push":{"comments":{"$each":[{"by":"x"}],"$sort":{"at":1}}}}`, `{"$push":{"c":{"$each":[{"b":"x"}],"$sort":{"a":1}}}}`},
		{`{"$rename":{"title":"pricing.list"}}`, `{"$rename":{"t":"p.l"}}`},
		{`{"deep":{"er":1}}`, `{"deep":{"e":1}}`},
	} {
		short, err := names.Shorten(parse(t, c.long))
		if got := text(t, short); got != c.short || err != nil {
			t.Errorf("%s: %s, %v, want %s", c.long, got, err, c.short)
		}
		long, err := names.Lengthen(parse(t, c.short))
		if got := text(t, long); got != c.long || err != nil {
			t.Errorf("back from %s: %s, %v, want %s", c.short, got, err, c.long)
		}
	}
	if got := names.Path("comments.3.by"); got != "c.3.b" {
		t.Errorf("path: %s", got)
	}
	for doc, want := range map[string]error{
		`{"t":1}`:                            schema.ErrNameTaken,
		`{"comments":[{"a":1}]}`:             schema.ErrNameTaken,
		`{"$expr":{"$gt":["$title",1]}}`:     schema.ErrExpression,
		`{"$and":[{"$where":"this.title"}]}`: schema.ErrExpression,
		`{"$rename":{"x":"t"}}`:              schema.ErrNameTaken,
	} {
		if _, err := names.Shorten(parse(t, doc)); !errors.Is(err, want) {
			t.Errorf("%s: %v", doc, err)
		}
	}
	for _, bad := range []map[string]string{
		{"a": "x", "b": "x"}, {"a": ""}, {"a.b": "c.d"}, {"": "a"}, {"a": "$b"}, {"$a": "b"},
	} {
		if _, err := schema.NewNames(bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

func parse(t *testing.T, doc string) (d bson.D) {
	t.Helper()
	if err := bson.UnmarshalExtJSON([]byte(doc), false, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func text(t *testing.T, d bson.D) string {
	t.Helper()
	out, err := bson.MarshalExtJSON(d, false, false)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestNamesStored stores documents with short names, and finds and changes them by the long names.
func TestNamesStored(t *testing.T) {
	t.Parallel()
	names, coll := someNames(t), patterntest.Open(t).Collection("products")
	short := func(doc string) bson.D {
		d, err := names.Shorten(parse(t, doc))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if _, err := coll.InsertOne(t.Context(), short(`{"_id":1,"title":"x","comments":[{"by":"ann","at":1},{"by":"joe","at":2}]}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := coll.UpdateOne(t.Context(), short(`{"comments.by":"joe"}`),
		short(`{"$set":{"comments.$.at":7}}`)); err != nil {
		t.Fatal(err)
	}
	raw, err := coll.FindOne(t.Context(), short(`{"comments":{"$elemMatch":{"by":"joe","at":7}}}`)).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Title    string
		Comments []struct{ At int }
	}
	if err := names.Decode(raw, &got); err != nil || got.Title != "x" ||
		len(got.Comments) != 2 || got.Comments[1].At != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := raw.LookupErr("title"); err == nil {
		t.Errorf("stored with long names: %v", raw)
	}
}

// TestNamesRoundTrip shortens random documents and lengthens them again.
func TestNamesRoundTrip(t *testing.T) {
	t.Parallel()
	names := someNames(t)
	rapid.Check(t, func(rt *rapid.T) {
		var document func(depth int) bson.D
		document = func(depth int) bson.D {
			d := bson.D{}
			keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
				"title", "pricing", "list", "comments", "by", "at", "deep", "er", "x", "y",
			}), 0, 4, rapid.ID).Draw(rt, "keys")
			for _, k := range keys {
				var v any = rapid.Int32().Draw(rt, "leaf")
				if depth > 0 && rapid.Bool().Draw(rt, "below") {
					v = document(depth - 1)
					if rapid.Bool().Draw(rt, "array") {
						v = bson.A{v, document(depth - 1)}
					}
				}
				d = append(d, bson.E{k, v})
			}
			return d
		}
		want := document(3)
		short, err := names.Shorten(want)
		if err != nil {
			rt.Fatal(err)
		}
		long, err := names.Lengthen(short)
		if err != nil || text(t, long) != text(t, want) {
			rt.Fatalf("%v became %v, %v", want, long, err)
		}
	})
}
