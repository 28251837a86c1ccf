package crashtest

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestKilledLog damages the newest log of a server that was killed, and of one that was stopped.
// The first store must be refused until it is opened with Salvage. The second one must have all
// data.
func TestKilledLog(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	const n = 100
	for _, how := range []string{"killed", "stopped"} {
		dir := t.TempDir()
		c := start(t, dir)
		coll := c.client.Database("test").Collection("c", options.Collection().SetWriteConcern(writeconcern.Majority()))
		for i := range n {
			if _, err := coll.InsertOne(t.Context(),
				bson.D{{"_id", i}, {"text", "some text"}}); err != nil {
				t.Fatal(err)
			}
		}
		if how == "killed" {
			c.kill()
		} else {
			c.stop()
		}
		name := damageNewestLog(t, dir)
		if how == "stopped" {
			if found := countDocuments(t, dir, nil); found != n {
				t.Errorf("%d of %d documents are left of a store that was stopped", found, n)
			}
			continue
		}
		db, err := sheaf.Open(dir, nil)
		if err == nil {
			_ = db.Close()
			t.Fatal("a damaged log is not noticed")
		}
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error names no file: %v", err)
		}
		var log bytes.Buffer
		found := countDocuments(t, dir, &sheaf.Options{Salvage: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if found >= n || !strings.Contains(log.String(), name) || !strings.Contains(log.String(), "lostBytes") {
			t.Errorf("salvage finds %d documents, and says\n%s", found, &log)
		}
	}
}

// damageNewestLog flips a bit of the newest log, at a tenth of its length, and returns the log's
// name.
func damageNewestLog(t *testing.T, dir string) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("there is no log: %v", err)
	}
	newest := logs[len(logs)-1]
	data, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/10] ^= 1
	if err := os.WriteFile(newest, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Base(newest)
}

// countDocuments opens a store and counts its documents.
func countDocuments(t *testing.T, dir string, opts *sheaf.Options) int64 {
	t.Helper()
	db, err := sheaf.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.Client().Database("test").Collection("c").CountDocuments(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
