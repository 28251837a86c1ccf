package command_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/sheaftest"
)

// waitingWrites returns the number of operations that wait to write, and whether the server is
// locked.
func waitingWrites(t *testing.T, client *mongo.Client) (n int, locked bool) {
	t.Helper()
	raw, err := client.Database("admin").
		RunCommand(t.Context(), bson.D{{"currentOp", 1}, {"waitingForLock", true}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	values, err := raw.Lookup("inprog").Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	locked, _ = raw.Lookup("fsyncLock").BooleanOK()
	return len(values), locked
}

// TestFsyncLock checks that fsyncLock blocks writes and not reads, until all locks are released.
func TestFsyncLock(t *testing.T) {
	t.Parallel()
	client := sheaftest.New(t)
	db, admin := client.Database("d"), client.Database("admin")
	command := func(cmd bson.D) bson.Raw {
		t.Helper()
		raw, err := admin.RunCommand(t.Context(), cmd).Raw()
		if err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
		return raw
	}
	insert := func(n int) error {
		_, err := db.Collection("c").InsertOne(t.Context(), bson.D{{"n", n}})
		return err
	}
	if err := insert(0); err != nil {
		t.Fatal(err)
	}
	lock := bson.D{{"fsync", 1}, {"lock", true}}
	for want := int64(1); want <= 2; want++ {
		if got := command(lock).Lookup("lockCount").Int64(); got != want {
			t.Errorf("lockCount %d, want %d", got, want)
		}
	}
	done := make(chan error, 3)
	go func() { done <- insert(1) }()
	go func() {
		_, err := db.Collection("c").Aggregate(t.Context(), bson.A{bson.D{{"$out", "o"}}})
		done <- err
	}()
	go func() { done <- db.CreateCollection(t.Context(), "new") }()
	for {
		if n, locked := waitingWrites(t, client); n == 3 && locked {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if n, err := db.Collection("c").CountDocuments(t.Context(), bson.D{}); err != nil || n != 1 {
		t.Errorf("%d documents: %v", n, err)
	}
	if cur, err := db.Collection("c").Aggregate(t.Context(), bson.A{bson.D{{"$match", bson.D{}}}}); err != nil {
		t.Error(err)
	} else {
		_ = cur.Close(t.Context())
	}
	slow, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := db.RunCommand(slow, bson.D{{"delete", "c"}, {"maxTimeMS", 5}, {"deletes", bson.A{
		bson.D{{"q", bson.D{}}, {"limit", 0}},
	}}}).Err()
	if err == nil {
		t.Error("a delete did not wait")
	}
	unlock := bson.D{{"fsyncUnlock", 1}}
	if got := command(unlock).Lookup("lockCount").Int64(); got != 1 {
		t.Errorf("lockCount %d after an unlock", got)
	}
	if n, locked := waitingWrites(t, client); n != 3 || !locked {
		t.Errorf("%d wait, locked %v", n, locked)
	}
	if got := command(unlock).Lookup("lockCount").Int64(); got != 0 {
		t.Errorf("lockCount %d at the end", got)
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n, locked := waitingWrites(t, client); n != 0 || locked {
		t.Errorf("%d wait, locked %v", n, locked)
	}
}
