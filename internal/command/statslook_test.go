package command_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/dispatch"
	"github.com/sheafdb/sheaf/internal/wire"
)

// TestStatsHearInterrupts checks that commands which measure sizes can be interrupted.
func TestStatsHearInterrupts(t *testing.T) {
	t.Parallel()
	h := newHotPath(t, 0)
	h.run(insertOne(kilobyte(1)))
	index := func(field string) bsonx.Doc {
		return bsonx.NewDoc("key", bsonx.NewDoc(field, 1), "name", field)
	}
	h.run(bsonx.NewDoc("createIndexes", "c", "indexes", []bsonx.Doc{index("a"), index("b")}, "$db", "db"))
	op := &h.conn.Op
	op.Looks = func() { op.Kill(op.ID()) }
	for _, cmd := range []bsonx.Doc{
		bsonx.NewDoc("collStats", "c", "$db", "db"),
		bsonx.NewDoc("dbStats", 1, "$db", "db"),
		bsonx.NewDoc("listDatabases", 1, "$db", "admin"),
	} {
		out := dispatch.Handle(t.Context(), h.svc, h.conn, &wire.Message{Body: cmd}, nil).Out
		var reply wire.Message
		if err := wire.Parse(&reply, out); err != nil {
			t.Fatal(err)
		}
		const interrupted = 11601
		if code, _ := reply.Body.Lookup("code").AsInt64(); code != interrupted {
			t.Errorf("%v: %v", cmd, reply.Body)
		}
	}
}
