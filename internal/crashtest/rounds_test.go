package crashtest

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/torture"
)

// The short form has shortRounds rounds, or fewer if they take longer than patience.
const (
	shortRounds = 3
	patience    = 10 * time.Second
)

// load is the work that clients do on a server while it is killed, with the checks of the data.
type load interface {
	// prepare creates the data for the first round.
	prepare(t *testing.T, srv *child)
	// work is the work of one client, until ctx ends or the server is gone.
	work(ctx context.Context, t *testing.T, srv *child, client int, rng *rand.Rand)
	// verify checks the data of a restarted server.
	verify(t *testing.T, srv *child)
}

// killRounds kills a server under load, again and again on one directory. It returns the number of
// kills.
func killRounds(t *testing.T, clients int, l load, follower *follower) int {
	t.Helper()
	run := torture.Begin(t)
	rng := run.Rand(0)
	generators := make([]*rand.Rand, clients)
	for i := range generators {
		generators[i] = run.Rand(i + 1)
	}
	dir := t.TempDir()
	srv := start(t, dir)
	l.prepare(t, srv)
	for run.Next(shortRounds, patience) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i, rng := range generators {
			wg.Go(func() { l.work(ctx, t, srv, i, rng) })
		}
		time.Sleep(time.Duration(100+rng.IntN(300)) * time.Millisecond)
		srv.kill()
		cancel()
		wg.Wait()
		srv.disconnect()
		srv = start(t, dir)
		l.verify(t, srv)
		follower.check(t, srv.client)
	}
	srv.stop()
	return run.Rounds()
}

// numbers count the insertions of a client: the newest number sent, and the newest one
// acknowledged.
type numbers struct{ sent, acked int64 }

// acknowledged adds up the acknowledged numbers of the clients.
func acknowledged(all []numbers) (sum int64) {
	for _, n := range all {
		sum += n.acked
	}
	return sum
}
