package adversarial

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// TestAttacksTogether runs every attack on 16 connections at the same time on a server in a
// container. The server must survive, stay within its memory, reply to a ping, and reply to each
// command.
func TestAttacksTogether(t *testing.T) {
	needsServer(t)
	limit := 200 * time.Millisecond
	if *long {
		limit = 20 * time.Second
	}
	families := attacks()
	for _, family := range slices.Sorted(maps.Keys(families)) {
		if !*long && (family == "floods" || family == "wrong") {
			continue // floods take minutes, and wrong commands take no memory
		}
		t.Run(family, func(t *testing.T) {
			c := startContainer(t)
			db := c.client(t).Database("d")
			if _, err := db.Collection("c").
				InsertMany(t.Context(), []any{bson.D{{"x", 1}}, bson.D{{"x", 2}}}); err != nil {
				t.Fatal(err)
			}
			stop := c.watchPings(t)
			before := int64(0)
			for _, a := range families[family]() {
				cmd := append(bsonxtest.ParseD(t, a.cmd), bson.E{"maxTimeMS", limit.Milliseconds()})
				codes := attackTogether(t, db, a.name, cmd)
				peak := c.status(t, "VmHWM")
				if peak > before {
					t.Logf("%s: peak %d MiB, codes %v", a.name, peak>>20, codes)
				}
				if before = peak; peak > containerBytes {
					t.Fatalf("%s: the server took %d MiB", a.name, peak>>20)
				}
			}
			stop()
		})
	}
}

// attackTogether runs a command on the connections of all attackers at the same time, and counts
// the codes of the replies.
func attackTogether(t *testing.T, db *mongo.Database, name string, cmd any) map[int32]int {
	t.Helper()
	codes, mu := map[int32]int{}, sync.Mutex{}
	together(attackers, func(int) {
		ctx, cancel := context.WithCancel(context.Background()) // the driver would turn a deadline into a maxTimeMS
		defer cancel()
		defer time.AfterFunc(3*time.Minute, cancel).Stop()
		var refused mongo.CommandError
		var failed mongo.WriteException
		err := db.RunCommand(ctx, cmd).Err()
		switch {
		case err == nil, errors.As(err, &refused) && refused.Code != 0:
		case errors.As(err, &failed) && len(failed.WriteErrors) > 0:
			refused.Code = int32(failed.WriteErrors[0].Code)
		default:
			t.Errorf("%s: no answer: %v", name, err)
		}
		mu.Lock()
		codes[refused.Code]++
		mu.Unlock()
	})
	return codes
}
