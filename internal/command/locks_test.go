package command_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestStatusOfLocks checks the section locks of serverStatus: the number of writes, of writes that
// waited and their waiting time, and of locks by fsync.
func TestStatusOfLocks(t *testing.T) {
	t.Parallel()
	client := openWithTestCommands(t)
	admin, c := client.Database("admin"), client.Database("d").Collection("c")
	type counts struct {
		W int64 `bson:"w"`
		R int64 `bson:"R"`
	}
	status := func() (acquired, waits, micros counts) {
		t.Helper()
		var got struct {
			Locks struct {
				Global struct {
					Acquired counts `bson:"acquireCount"`
					Waits    counts `bson:"acquireWaitCount"`
					Micros   counts `bson:"timeAcquiringMicros"`
				} `bson:"Global"`
			}
		}
		if err := admin.RunCommand(t.Context(), bson.D{{"serverStatus", 1}}).Decode(&got); err != nil {
			t.Fatal(err)
		}
		return got.Locks.Global.Acquired, got.Locks.Global.Waits, got.Locks.Global.Micros
	}
	before, _, _ := status()
	if _, err := c.InsertOne(t.Context(), bson.D{}); err != nil {
		t.Fatal(err)
	}
	if after, waits, _ := status(); after.W != before.W+1 || after.R != 0 || waits.W != 0 {
		t.Errorf("acquired %+v, then %+v, waited %+v", before, after, waits)
	}
	if err := admin.RunCommand(t.Context(), bson.D{{"fsync", 1}, {"lock", true}}).Err(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.InsertOne(context.Background(), bson.D{})
		done <- err
	}()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, waits, _ := status(); waits.W == 1 || time.Now().After(deadline) {
			break
		}
	}
	time.Sleep(2 * time.Millisecond)
	if err := admin.RunCommand(t.Context(), bson.D{{"fsyncUnlock", 1}}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	after, waits, micros := status()
	if after.W != before.W+2 || after.R != 1 || waits.W != 1 || micros.W < 2000 {
		t.Errorf("acquired %+v, waits %+v, microseconds %+v", after, waits, micros)
	}
}
