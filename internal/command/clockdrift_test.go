package command_test

import (
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestClockDrift checks that a client may send a cluster time that is limits.ClockDriftSeconds
// ahead of the server's clock, but no later one.
func TestClockDrift(t *testing.T) {
	t.Parallel()
	const now = 1_700_000_000
	svc, err := commands.NewService(command.Deps{ReplicaSet: "rs0", Clock: clock.Fixed(time.Unix(now, 0))})
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t, svc, svc.NewConn(1, "", "", true)}
	for beyond, want := range []mongoerr.Code{0, mongoerr.ClusterTimeFailsRateLimiter} {
		at := bsonx.Timestamp(uint32(now+limits.ClockDriftSeconds+beyond), 1)
		got := h.run("test", bsonx.NewDoc("ping", 1, "$clusterTime", bsonx.NewDoc("clusterTime", at)))
		if code(got) != want {
			t.Errorf("%d s ahead: %s", limits.ClockDriftSeconds+beyond, command.FormatDoc(got))
		}
	}
}
