package recorded

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/sheaftest"
)

// FuzzRoundTrip checks that arbitrary bytes in a field's name and a string come back unchanged from
// a collection, an index and an update.
func FuzzRoundTrip(f *testing.F) {
	for _, text := range texts {
		f.Add(text, text)
		f.Add("a"+text, text+"b")
	}
	coll := sheaftest.New(f).Database("bytes").Collection("c")
	if _, err := coll.Indexes().CreateOne(context.Background(), mongo.IndexModel{Keys: d("v", 1)}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if strings.ContainsAny(name, "\x00.$") || name == "" || len(name)+len(text) > 1<<20 {
			t.Skip("not a name")
		}
		ctx := t.Context()
		doc := d("_id", text, "v", text, "o", d(name, text), "a", bson.A{text, name})
		if _, err := coll.ReplaceOne(ctx, d("_id", text), doc, options.Replace().SetUpsert(true)); err != nil {
			t.Fatal(err)
		}
		update := d("$set", d("o.new"+name, text), "$push", d("a", text))
		if _, err := coll.UpdateOne(ctx, d("_id", text, "o."+name, text), update); err != nil {
			t.Fatal(err)
		}
		doc[2].Value = append(doc[2].Value.(bson.D), bson.E{"new" + name, text})
		doc[3].Value = bson.A{text, name, text}
		for _, filter := range []bson.D{d("_id", text), d("v", text), d("o."+name, text)} {
			var back bson.D
			if err := coll.FindOne(ctx, filter).Decode(&back); err != nil || !reflect.DeepEqual(back, doc) {
				t.Fatalf("%+q: %+q, %v, want %+q", filter, back, err, doc)
			}
		}
		var key bson.D
		covered := options.FindOne().SetProjection(d("v", 1, "_id", 0)).SetHint(d("v", 1))
		if err := coll.FindOne(ctx, d("v", text), covered).Decode(&key); err != nil ||
			!reflect.DeepEqual(key, d("v", text)) {
			t.Fatalf("the index has %+q, %v, want %+q", key, err, text)
		}
		if _, err := coll.DeleteOne(ctx, d("_id", text)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestBytesInEvents checks that the oplog and change streams carry strings and names that are not
// UTF-8, and that JavaScript and text search can read them.
func TestBytesInEvents(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("bytes")
	coll := db.Collection("c")
	if err := db.CreateCollection(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	stream, err := coll.Watch(t.Context(), mongo.Pipeline{},
		options.ChangeStream().SetFullDocument(options.UpdateLookup))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close(context.Background()) }()
	if _, err := coll.InsertOne(t.Context(),
		d("_id", "\xff", "v", "word\xff stone", "\xc3", "\xed\xa0\x80")); err != nil {
		t.Fatal(err)
	}
	if _, err := coll.UpdateByID(t.Context(), "\xff",
		d("$set", d("\xfe", "\xfd"), "$unset", d("\xc3", 1))); err != nil {
		t.Fatal(err)
	}
	want := d("_id", "\xff", "v", "word\xff stone", "\xfe", "\xfd")
	for _, check := range []struct {
		path []string
		want any
	}{
		{[]string{"fullDocument"}, d("_id", "\xff", "v", "word\xff stone", "\xc3", "\xed\xa0\x80")},
		{[]string{"updateDescription", "updatedFields"}, d("\xfe", "\xfd")},
	} {
		if !stream.Next(t.Context()) {
			t.Fatal(stream.Err())
		}
		var got bson.D
		if err := stream.Current.Lookup(check.path...).Unmarshal(&got); err != nil {
			t.Fatal(err)
		}
		if check.path[0] == "fullDocument" && len(got) == 3 { // the document was looked up after the update
			continue
		}
		if !reflect.DeepEqual(got, check.want) {
			t.Errorf("%v: %+q, want %+q", check.path, got, check.want)
		}
	}
	entry := db.Client().Database("local").Collection("oplog.rs").FindOne(t.Context(), d("ns", "bytes.c", "op", "i"))
	if raw, err := entry.Raw(); err != nil || raw.Lookup("o", "\xc3").StringValue() != "\xed\xa0\x80" {
		t.Errorf("oplog: %v, %v", raw, err)
	}
	if _, err := coll.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: d("v", "text")}); err != nil {
		t.Fatal(err)
	}
	for _, filter := range []bson.D{d("$text", d("$search", "stone")), d("$where", "this.v.length > 5")} {
		var got bson.D
		if err := coll.FindOne(t.Context(), filter).Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %+q, %v", filter, got, err)
		}
	}
}
