package server

import (
	"context"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestBackoff checks that failures of accept for six minutes log few lines, whatever their number.
func TestBackoff(t *testing.T) {
	t.Parallel()
	var b backoff
	now := time.Unix(1_000_000, 0)
	lines, tries := 0, 0
	for end := now.Add(6 * time.Minute); now.Before(end); tries++ {
		pause, log := b.failed(now)
		if log {
			lines++
		}
		if pause < acceptRetry || pause > maxAcceptRetry {
			t.Fatalf("a pause of %v", pause)
		}
		now = now.Add(pause)
	}
	if lines > 36 || tries > 400 {
		t.Errorf("%d lines, %d tries", lines, tries)
	}
	b.succeeded()
	if pause, _ := b.failed(now); pause != acceptRetry {
		t.Errorf("a pause of %v after a success", pause)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	var r refusals
	now := time.Unix(1_000_000, 0)
	lines := 0
	for range 672_000 {
		if _, log := r.note(now); log {
			lines++
		}
		now = now.Add(500 * time.Microsecond)
	}
	if lines > 40 {
		t.Errorf("%d lines", lines)
	}
}

// TestEstablishmentLimit checks that beyond the rate one connection waits and the others are
// closed. Connections within the process are exempt.
func TestEstablishmentLimit(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	srv := newTestServer(t)
	addr := listenTCP(t, srv)
	first := dial(t, addr)
	for _, p := range []struct {
		name  string
		value any
	}{
		{"ingressConnectionEstablishmentRateLimiterEnabled", true},
		{"ingressConnectionEstablishmentRatePerSec", 1},
		{"ingressConnectionEstablishmentBurstCapacitySecs", 2},
		{"ingressConnectionEstablishmentMaxQueueDepth", 1},
	} {
		first.send(request(1, 0, bsonx.NewDoc("setParameter", 1, p.name, p.value, "$db", "admin")))
		if m := first.receive(); m.Body.Lookup("ok").Double() != 1 {
			t.Fatalf("%s: %+v", p.name, m)
		}
	}
	l := NewMemoryListener("exempt")
	go func() { _ = srv.Serve(context.Background(), l) }()
	within, err := l.DialContext(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer within.Close()
	(&rawClient{t, within}).ping()
	var clients []*rawClient
	for range 20 {
		clients = append(clients, dial(t, addr))
	}
	established, refused := 0, 0
	for _, c := range clients {
		if _, err := c.Write(request(77, 0, ping)); err != nil || c.closed() {
			refused++
		} else {
			established++
		}
	}
	if established < 3 || refused == 0 {
		t.Errorf("%d established, %d refused", established, refused)
	}
	first.send(request(2, 0, bsonx.NewDoc("serverStatus", 1, "$db", "admin")))
	status := first.receive().Body
	if n, _ := status.LookupPath("connections", "establishmentRateLimit", "rejected").AsInt64(); n != int64(refused) {
		t.Errorf("%d are said to be rejected, %d were", n, refused)
	}
	if n, _ := status.LookupPath("queues", "ingressSessionEstablishment", "exemptedAdmission").AsInt64(); n != 1 {
		t.Errorf("%d are said to be exempt", n)
	}
}
