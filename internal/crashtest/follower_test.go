package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog/oplogtest"
)

// follower rebuilds the collections of a server in two ways: from the oplog, and from a change
// stream on the whole server, which it resumes in each round.
type follower struct {
	replica *oplogtest.Replica
	// mirror is nil if there are time series, because change streams do not cover them.
	mirror *oplogtest.Replica
	token  bson.Raw
}

func newFollower(series bool) *follower {
	f := &follower{replica: oplogtest.NewReplica()}
	if !series {
		f.mirror = oplogtest.NewMirror()
	}
	return f
}

// check compares the rebuilt collections with the real ones. There must be no writes meanwhile.
func (f *follower) check(t *testing.T, client *mongo.Client) {
	t.Helper()
	if t.Failed() {
		return
	}
	if f.mirror != nil {
		if err := f.follow(t.Context(), client); err != nil {
			t.Errorf("change stream: %v", err)
		} else if err := f.mirror.Check(t.Context(), client); err != nil {
			t.Errorf("change stream: %v", err)
		}
	}
	if err := f.replica.Check(t.Context(), client); err != nil {
		t.Errorf("the log of changes: %v", err)
	}
}

// follow applies the events of the change stream. It inserts a document, and stops at its event.
func (f *follower) follow(ctx context.Context, client *mongo.Client) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	opts := options.ChangeStream().SetShowExpandedEvents(true).SetBatchSize(500)
	if f.token == nil {
		opts.SetStartAtOperationTime(&bson.Timestamp{T: 1})
	} else {
		opts.SetResumeAfter(f.token)
	}
	stream, err := client.Watch(ctx, bson.A{}, opts)
	if err != nil {
		return err
	}
	defer stream.Close(context.Background())
	end, err := client.Database("end").Collection("end").InsertOne(ctx, bson.D{})
	if err != nil {
		return err
	}
	id := end.InsertedID.(bson.ObjectID)
	for stream.Next(ctx) {
		if err := f.mirror.ApplyEvent(bsonx.Doc(stream.Current)); err != nil {
			return fmt.Errorf("%w: event %v", err, stream.Current)
		}
		f.token = bytes.Clone(stream.ResumeToken())
		if key, ok := stream.Current.Lookup("documentKey", "_id").ObjectIDOK(); ok && key == id {
			return nil
		}
	}
	return errors.Join(errors.New("the stream ended"), stream.Err())
}
