package changestream_test

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sheaftest"
)

func fieldsOf(t *testing.T, event bson.Raw) []string {
	t.Helper()
	elements, err := event.Elements()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range elements {
		names = append(names, e.Key())
	}
	return names
}

func TestSplitLargeEvent(t *testing.T) {
	torture.NeedsLong(t)
	client := sheaftest.New(t)
	ctx := t.Context()
	c := withImages(t, client)
	split := bson.A{bson.D{{"$changeStreamSplitLargeEvent", bson.D{}}}}
	images := func() *options.ChangeStreamOptionsBuilder { return bothImages(options.Required) }
	whole, stream := watch(t, c, bson.A{}, images()), watch(t, c, split, images())
	insert := func(id int, size int) {
		t.Helper()
		must[*mongo.InsertOneResult](t)(c.InsertOne(ctx,
			bson.D{{"_id", id}, {"a", strings.Repeat("x", size)}}))
	}
	insert(1, 16<<20-1<<10)
	must[*mongo.UpdateResult](t)(c.UpdateOne(ctx, bson.D{}, bson.D{{"$set", bson.D{{"b", 1}}}}))
	insert(2, 1)
	want := [][]string{
		{"_id", "operationType", "clusterTime", "wallTime", "fullDocument", "ns", "documentKey"},
		{
			"_id", "splitEvent", "ns", "wallTime", "clusterTime", "documentKey", "operationType",
			"updateDescription", "fullDocument",
		},
		{"_id", "splitEvent", "fullDocumentBeforeChange"},
		{"_id", "operationType", "clusterTime", "wallTime", "fullDocument", "ns", "documentKey"},
	}
	var tokens []bson.Raw
	read := func(stream *mongo.ChangeStream, want [][]string) {
		t.Helper()
		for i, fields := range want {
			if !stream.Next(ctx) {
				t.Fatalf("no event: %v", stream.Err())
			}
			got := fieldsOf(t, stream.Current)
			slices.Sort(got)
			slices.Sort(fields)
			if !slices.Equal(got, fields) {
				t.Errorf("document %d has fields\n     %v\nwant %v", i, got, fields)
			}
			tokens = append(tokens, stream.ResumeToken())
		}
	}
	read(stream, want)
	for i := range len(tokens) - 1 {
		read(watch(t, c, split, images().SetResumeAfter(tokens[i])), want[i+1:])
	}
	_, err := c.Watch(ctx, bson.A{}, images().SetResumeAfter(tokens[1]))
	wantCode(t, err, 280)

	for whole.Next(ctx) {
	}
	wantCode(t, whole.Err(), 10334)

	small := bson.A{bson.D{{"$project", bson.D{{"operationType", 1}}}}, split[0]}
	other := watch(t, c, small)
	_, err = c.Watch(ctx, small, options.ChangeStream().SetResumeAfter(tokens[1]))
	wantCode(t, err, 280)
	insert(3, 1)
	wantEvents(t, other, `"operationType":"insert"`)
}

func TestEventThatCannotBeSplit(t *testing.T) {
	client := sheaftest.New(t)
	c := client.Database("d").Collection("c")
	long := strings.Repeat("x", 9<<20)
	stream := watch(t, c, bson.A{
		bson.D{{"$addFields", bson.D{{"a", bson.A{"$fullDocument.a", "$fullDocument.a"}}}}},
		bson.D{{"$changeStreamSplitLargeEvent", bson.D{}}},
	})
	must[*mongo.InsertOneResult](t)(c.InsertOne(t.Context(), bson.D{{"a", long}}))
	if stream.Next(t.Context()) {
		t.Errorf("event of %d bytes", len(stream.Current))
	}
	wantCode(t, stream.Err(), 7182500)
}
