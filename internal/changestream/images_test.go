package changestream_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sheaftest"
)

func setExpiry(t *testing.T, client *mongo.Client, options any) error {
	t.Helper()
	return client.Database("admin").
		RunCommand(t.Context(),
			bson.D{{"setClusterParameter", bson.D{{"changeStreamOptions", options}}}}).Err()
}

func expiry(t *testing.T, client *mongo.Client, name any) string {
	t.Helper()
	var got struct {
		ClusterParameters []struct {
			ID     string         `bson:"_id"`
			Time   bson.Timestamp `bson:"clusterParameterTime"`
			Images bson.M         `bson:"preAndPostImages"`
		} `bson:"clusterParameters"`
	}
	if err := client.Database("admin").
		RunCommand(t.Context(), bson.D{{"getClusterParameter", name}}).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.ClusterParameters) != 1 {
		t.Fatalf("%d parameters", len(got.ClusterParameters))
	}
	p := got.ClusterParameters[0]
	return fmt.Sprintf("%s %T %v set %t", p.ID, p.Images["expireAfterSeconds"],
		p.Images["expireAfterSeconds"], p.Time.T > 0)
}

func TestChangeStreamOptions(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	client := db.Client()
	images := func(v any) bson.D {
		return bson.D{{"preAndPostImages", bson.D{{"expireAfterSeconds", v}}}}
	}
	if got := expiry(t, client, "changeStreamOptions"); got != "changeStreamOptions string off set false" {
		t.Errorf("at first %s", got)
	}
	for _, test := range []struct {
		value any
		code  int32
	}{
		{bson.D{}, 2},
		{bson.D{{"preAndPostImages", bson.D{}}}, 2},
		{bson.D{{"x", 1}}, 2},
		{1, 20},
		{images("unknown"), 2},
		{images(-1), 2},
		{images(0), 2},
		{images(true), 2},
	} {
		wantCode(t, setExpiry(t, client, test.value), test.code)
	}
	for command, code := range map[*bson.D]int32{
		{{"getClusterParameter", "none"}}:                     4,
		{{"getClusterParameter", bson.A{}}}:                   2,
		{{"getClusterParameter", bson.A{1}}}:                  14,
		{{"setClusterParameter", bson.D{}}}:                   4,
		{{"setClusterParameter", bson.D{{"none", bson.D{}}}}}: 4,
		{{"setClusterParameter", bson.D{{"a", 1}, {"b", 1}}}}: 72,
	} {
		wantCode(t, client.Database("admin").RunCommand(t.Context(), *command).Err(), code)
	}
	wantCode(t, client.Database("d").
		RunCommand(t.Context(), bson.D{{"getClusterParameter", "*"}}).Err(), 13)
	if err := setExpiry(t, client, images(100.0)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, dir)
	defer func() { _ = db.Close() }()
	for _, name := range []any{"changeStreamOptions", bson.A{"changeStreamOptions"}} {
		if got := expiry(t, db.Client(), name); got != "changeStreamOptions int64 100 set true" {
			t.Errorf("after a restart %s", got)
		}
	}
	if err := setExpiry(t, db.Client(), images("off")); err != nil {
		t.Fatal(err)
	}
	if got := expiry(t, db.Client(), "changeStreamOptions"); got != "changeStreamOptions string off set true" {
		t.Errorf("at last %s", got)
	}
}

func TestImagesExpire(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	client := sheaftest.New(t)
	ctx := t.Context()
	c := withImages(t, client)
	available := bothImages(options.WhenAvailable)
	stream := watch(t, c, bson.A{}, available)
	must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{"_id", 1}}))
	next(t, stream)
	begin := stream.ResumeToken()
	must[*mongo.UpdateResult](t)(c.UpdateOne(ctx, bson.D{}, bson.D{{"$set", bson.D{{"a", 1}}}}))
	must[*mongo.DeleteResult](t)(c.DeleteOne(ctx, bson.D{}))
	time.Sleep(1100 * time.Millisecond)
	const update = `"operationType":"update" "fullDocument":%s "ns":{"db":"d","coll":"c"} "documentKey":{"_id":1} "updateDescription":{"updatedFields":{"a":1},"removedFields":[],"truncatedArrays":[]} "fullDocumentBeforeChange":%s`
	const deletion = `"operationType":"delete" "ns":{"db":"d","coll":"c"} "documentKey":{"_id":1} "fullDocumentBeforeChange":%s`
	for seconds, want := range map[any][]string{
		1000:  {fmt.Sprintf(update, `{"_id":1,"a":1}`, `{"_id":1}`), fmt.Sprintf(deletion, `{"_id":1,"a":1}`)},
		1:     {fmt.Sprintf(update, "null", "null"), fmt.Sprintf(deletion, "null")},
		"off": {fmt.Sprintf(update, `{"_id":1,"a":1}`, `{"_id":1}`), fmt.Sprintf(deletion, `{"_id":1,"a":1}`)},
	} {
		if err := setExpiry(t, client,
			bson.D{{"preAndPostImages", bson.D{{"expireAfterSeconds", seconds}}}}); err != nil {
			t.Fatal(err)
		}
		wantEvents(t, watch(t, c, bson.A{}, available, options.ChangeStream().SetResumeAfter(begin)), want...)
	}
}
