package command_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/dispatch"
	"github.com/sheafdb/sheaf/internal/wire"
)

// echoGeneric returns a command that replies with its arguments.
func echoGeneric() command.Definition {
	return command.Definition{
		Name: "echoGeneric", Loose: true, Read: true, Snapshot: true,
		Run: func(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
			g := req.Generic
			reply.String("generic", fmt.Sprintf("%+v", g))
			reply.String("db", req.DB)
			for _, a := range req.Args() {
				reply.Value(string(a.Key), a.Value)
			}
			return nil
		},
	}
}

// TestEndings checks that a command with the same ending as the one before is parsed as if it were
// the first command of its connection.
func TestEndings(t *testing.T) {
	t.Parallel()
	svc, err := commands.NewService(command.Deps{
		ReplicaSet: "rs0", Definitions: []command.Definition{echoGeneric()},
		Clock: clock.Fixed(time.Unix(1_700_000_000, 0)),
	})
	if err != nil {
		t.Fatal(err)
	}
	lsid := func(b byte) bsonx.Doc { return bsonx.NewDoc("id", bsonx.Binary(4, bytes16(b))) }
	inner := bsonx.NewDoc("lsid", lsid(1), "$db", "admin")
	fields := [][2]any{
		{"lsid", lsid(1)},
		{"lsid", lsid(2)},
		{"$db", "admin"},
		{"$db", "other"},
		{"$db", "no.name"},
		{"$clusterTime", bsonx.NewDoc("clusterTime", bsonx.Timestamp(5, 1))},
		{"$readPreference", bsonx.NewDoc("mode", "primary")},
		{"$readPreference", bsonx.NewDoc("mode", "nearest")},
		{"maxTimeMS", 100},
		{"comment", "here"},
		{"readConcern", bsonx.NewDoc("level", "local")},
		{"apiVersion", "1"},
		{"help", true},
		{"own", 7},
		{"own2", inner},
		{"own3", string(inner[4:])},
		{"$readPreference", 3},
		{"$db", 5},
		{"lsid", "x"},
		{"$clusterTime", 1},
	}
	rng := rand.New(rand.NewPCG(3, 4))
	conn, other := svc.NewConn(1, "", "", true), svc.NewConn(2, "", "", true)
	known := 0
	for i := range 20_000 {
		pairs := []any{"echoGeneric", 1}
		if rng.IntN(4) == 0 {
			pairs[0] = "ping"
		}
		for range rng.IntN(3) {
			f := fields[rng.IntN(len(fields))]
			pairs = append(pairs, f[0], f[1])
		}
		for _, f := range fields[:6] { // like drivers: mostly the same ending
			if rng.IntN(8) > 0 && !slices.Contains(pairs, f[0]) {
				pairs = append(pairs, f[0], f[1])
			}
		}
		raw, start := wire.BeginMsg(nil, 1, 0, 0)
		raw = wire.FinishMsg(append(raw, bsonx.NewDoc(pairs...)...), start)
		var after, alone wire.Message
		if err := wire.ParseAfter(&after, slices.Clone(raw), conn.Ending()); err != nil {
			t.Fatal(err)
		}
		if after.Ending > 0 {
			known++
		}
		if err := wire.Parse(&alone, raw); err != nil {
			t.Fatal(err)
		}
		got := dispatch.Handle(t.Context(), svc, conn, &after, nil).Out
		want := dispatch.Handle(t.Context(), svc, other, &alone, nil).Out
		if string(got[21:]) != string(want[21:]) {
			t.Fatalf("message %d: %s\n%s\nalone %s", i, bsonx.FormatShell(bsonx.Document(alone.Body)),
				bsonx.FormatShell(bsonx.Document(bsonx.Doc(got[21:]))),
				bsonx.FormatShell(bsonx.Document(bsonx.Doc(want[21:]))))
		}
	}
	if known < 1000 {
		t.Errorf("only %d messages ended like the one before", known)
	}
}

func bytes16(b byte) []byte {
	id := make([]byte, 16)
	id[0] = b
	return id
}
