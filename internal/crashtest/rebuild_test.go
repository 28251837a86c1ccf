package crashtest

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// rebuild reads a change stream of the whole server from its beginning, makes documents of its events, and compares them with those
// that there are. The events are what the tests make: updates of whole fields.
func rebuild(t *testing.T, client *mongo.Client) {
	t.Helper()
	if t.Failed() {
		return
	}
	stream, err := client.Watch(t.Context(), bson.A{}, options.ChangeStream().SetStartAtOperationTime(&bson.Timestamp{T: 1}).SetBatchSize(500))
	var failure mongo.CommandError
	if errors.As(err, &failure) && failure.HasErrorCode(286) {
		t.Log("the log of changes no longer goes back to the beginning")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close(context.Background())
	made := map[string]map[string]bson.D{} // by collection and _id
	events := 0
	for ; stream.TryNext(t.Context()); events++ {
		replay(t, made, stream.Current)
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	names, err := client.Database(retryDB).ListCollectionNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		docs := documents(t, client.Database(retryDB).Collection(name))
		for _, doc := range docs {
			if got := encode(t, made[name][doc.Lookup("_id").String()]); string(got) != string(doc) {
				t.Errorf("%s: the change stream makes %v of %v", name, got, doc)
			}
		}
		if len(docs) != len(made[name]) {
			t.Errorf("%s: the change stream makes %d documents of %d", name, len(made[name]), len(docs))
		}
	}
	t.Logf("%d events", events)
}

func encode(t *testing.T, doc bson.D) bson.Raw {
	t.Helper()
	out, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func replay(t *testing.T, made map[string]map[string]bson.D, event bson.Raw) {
	t.Helper()
	var e struct {
		OperationType     string
		NS                struct{ DB, Coll string }
		DocumentKey       bson.Raw
		FullDocument      bson.D
		UpdateDescription struct {
			UpdatedFields bson.D
			RemovedFields []string
		}
	}
	if err := bson.Unmarshal(event, &e); err != nil {
		t.Fatalf("%v: %v", event, err)
	}
	if made[e.NS.Coll] == nil {
		made[e.NS.Coll] = map[string]bson.D{}
	}
	docs, id := made[e.NS.Coll], e.DocumentKey.Lookup("_id").String()
	if _, exists := docs[id]; exists == (e.OperationType == "insert") {
		t.Errorf("an event about a document that exists: %t: %v", exists, event)
	}
	switch e.OperationType {
	case "insert", "replace":
		docs[id] = e.FullDocument
	case "delete":
		delete(docs, id)
	case "update":
		if len(e.UpdateDescription.RemovedFields) > 0 {
			t.Errorf("an unexpected event: %v", event)
		}
		for _, field := range e.UpdateDescription.UpdatedFields {
			docs[id] = with(docs[id], field)
		}
	default:
		t.Errorf("an unexpected event: %v", event)
	}
}

func with(doc bson.D, field bson.E) bson.D {
	for i := range doc {
		if doc[i].Key == field.Key {
			doc[i].Value = field.Value
			return doc
		}
	}
	return append(doc, field)
}
