package crashtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/torture"
)

// outOfDiskSpace is MongoDB's code for a full disk.
const outOfDiskSpace = 14031

func isOutOfSpace(err error) bool {
	var s mongo.ServerError
	return errors.As(err, &s) && s.HasErrorCode(outOfDiskSpace)
}

// smallDisk mounts a disk of 96 MiB, if the test has the permission.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("sheaf-test", dir, "tmpfs", 0, "size=96m"); err != nil {
		t.Skipf("mounting: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// TestDiskFull fills the disk of a server. Writes must be refused with MongoDB's code, reads must
// continue, and no acknowledged write may be lost. Deleting must make the server work again, and so
// must a restart on the full disk.
func TestDiskFull(t *testing.T) {
	torture.NeedsLong(t)
	if testing.Short() {
		t.Skip("fills a disk")
	}
	disk := smallDisk(t)
	dir := filepath.Join(disk, "store")
	srv := start(t, dir)
	ctx := t.Context()
	coll := srv.client.Database(workDB).Collection(docsName)
	if _, err := coll.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{"n", 1}}}); err != nil {
		t.Fatal(err)
	}
	acknowledged := fill(ctx, t, coll)
	if len(acknowledged) < 500 {
		t.Fatalf("the disk is full after %d documents", len(acknowledged))
	}
	expectAll(ctx, t, coll, acknowledged)
	// Another program takes the rest, and the space that compactions free.
	filler := filepath.Join(disk, "filler")
	_ = os.WriteFile(filler, make([]byte, 96<<20), 0o600)
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := coll.InsertOne(ctx, bson.D{{"n", 0}})
		if isOutOfSpace(err) {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("insert on a full disk: %v", err)
		}
	}
	expectAll(ctx, t, coll, acknowledged)
	refused(ctx, t, srv.client)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}

	srv.kill()
	srv.disconnect()
	srv = start(t, dir)
	coll = srv.client.Database(workDB).Collection(docsName)
	expectAll(ctx, t, coll, acknowledged)
	eventually(t, "dropping on a full disk", func() error { return coll.Drop(ctx) })
	eventually(t, "writing after the drop", func() error {
		_, err := coll.InsertOne(ctx, bson.D{{"_id", -1}})
		return err
	})
	clear(acknowledged)
	validate(ctx, t, srv.client.Database(workDB), docsName)
	srv.stop()
	checkStorage(t, dir)
}

// fill inserts documents that do not compress until the server refuses them.
func fill(ctx context.Context, t *testing.T, coll *mongo.Collection) map[int64]bool {
	t.Helper()
	var mu sync.Mutex
	acknowledged := map[int64]bool{}
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := newNoise(uint64(w))
			for ctx.Err() == nil {
				id := next.Add(1)
				_, err := coll.InsertOne(ctx,
					bson.D{
						{"_id", id},
						{"n", id % 100},
						{"noise", rng.bytes(8 << 10)},
					})
				if err != nil {
					if !isOutOfSpace(err) {
						t.Errorf("insert on a full disk: %v", err)
					}
					return
				}
				mu.Lock()
				acknowledged[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return acknowledged
}

// refused runs operations that need space on a full disk. All of them must fail with the same code.
func refused(ctx context.Context, t *testing.T, client *mongo.Client) {
	t.Helper()
	coll := client.Database(workDB).Collection(docsName)
	noise := newNoise(99).bytes(64 << 10)
	_, insert := coll.InsertOne(ctx, bson.D{{"n", 0}, {"noise", noise}})
	_, many := coll.InsertMany(ctx,
		[]bson.D{
			{{"n", 0}, {"noise", noise}},
			{{"n", 0}, {"noise", noise}},
		})
	// A server with a budget of 16 MiB does not always have room for a hundred large values.
	_, update := coll.UpdateMany(ctx, bson.D{{"n", 5}},
		bson.D{{"$set", bson.D{{"more", 1}}}})
	modify := coll.FindOneAndUpdate(ctx, bson.D{{"n", 6}},
		bson.D{{"$set", bson.D{{"more", noise}}}}).Err()
	create := client.Database(workDB).CreateCollection(ctx, "another")
	for what, err := range map[string]error{
		"insert": insert, "insertMany": many, "update": update,
		"findAndModify": modify, "create": create,
	} {
		if !isOutOfSpace(err) {
			t.Errorf("%s on a full disk: %v", what, err)
		}
	}
	status, err := client.Database("admin").RunCommand(ctx, bson.D{{"serverStatus", 1}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	if why, _ := status.Lookup("storage", "writesStopped").StringValueOK(); !strings.Contains(why, "no space") {
		t.Errorf("serverStatus says of a full disk: %q", why)
	}
}

// expectAll checks by a scan and by the index that the documents with these ids exist.
func expectAll(ctx context.Context, t *testing.T, coll *mongo.Collection, ids map[int64]bool) {
	t.Helper()
	count := func(filter bson.D) int64 {
		n, err := coll.CountDocuments(ctx, filter)
		if err != nil {
			t.Fatalf("count on a full disk: %v", err)
		}
		return n
	}
	scan, index := count(bson.D{}), count(bson.D{{"n", bson.D{{"$gte", 0}}}})
	if scan != index || scan < int64(len(ids)) {
		t.Fatalf("%d documents, %d by the index, %d were acknowledged", scan, index, len(ids))
	}
	for id := range ids {
		if err := coll.FindOne(ctx, bson.D{{"_id", id}}).Err(); err != nil {
			t.Fatalf("document %d: %v", id, err)
		}
	}
}

// eventually repeats an operation until it succeeds, because the server checks the free space only
// from time to time.
func eventually(t *testing.T, what string, do func() error) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if !isOutOfSpace(err) || time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}
