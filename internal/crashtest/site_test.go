package crashtest

import (
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/torture"
)

// site is a server that stops and starts while clients work.
type site struct {
	t   *testing.T
	run *torture.Run
	rng *rand.Rand
	dir string
	srv *child
	// host is the current address of the server.
	host atomic.Value
}

func newSite(t *testing.T) *site {
	t.Helper()
	run := torture.Begin(t)
	s := &site{t: t, run: run, rng: run.Rand(0), dir: t.TempDir()}
	s.start()
	return s
}

func (s *site) start() {
	s.t.Helper()
	s.srv = start(s.t, s.dir)
	u, err := url.Parse(s.srv.uri)
	if err != nil {
		s.t.Fatal(err)
	}
	s.host.Store(u.Host)
}

// Addr returns the server's address.
func (s *site) Addr() string { return s.host.Load().(string) }

func (s *site) db() *mongo.Database { return s.srv.client.Database(retryDB) }

// killAndStart kills the server and starts it again. Sometimes it also kills it during the start.
func (s *site) killAndStart() {
	s.t.Helper()
	s.srv.kill()
	s.srv.disconnect()
	if s.rng.IntN(3) == 0 {
		launchAndKill(s.t, s.dir, time.Duration(s.rng.IntN(60))*time.Millisecond)
	}
	s.start()
}

// attack disturbs the server or its network in each round, while the clients work. After each round
// the clients pause, and the data are compared with the states that the clients expect.
func (s *site) attack(clients []knowing, disturb func()) {
	s.t.Helper()
	prepare(s.t, s.db(), clients)
	follower := newFollower(false)
	var pause sync.RWMutex // held for reading while a client waits for a reply
	var stop atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop.Store(true)
	for _, c := range clients {
		wg.Go(func() {
			for !stop.Load() && !s.t.Failed() {
				pause.RLock()
				c.step()
				pause.RUnlock()
			}
		})
	}
	for s.run.Next(shortRounds, patience) {
		time.Sleep(time.Duration(50+s.rng.IntN(300)) * time.Millisecond)
		disturb()
		func() {
			pause.Lock()
			defer pause.Unlock() // also if verify ends the test
			s.verify(follower, clients)
		}()
	}
	stop.Store(true)
	wg.Wait()
	s.verify(follower, clients)
	onceInLog(s.t, s.db())
	if !s.t.Failed() {
		s.srv.stop()
	}
}

func (s *site) verify(f *follower, clients []knowing) {
	s.t.Helper()
	verify(s.t, s.db(), clients)
	f.check(s.t, s.srv.client)
}
