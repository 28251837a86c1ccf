package torture

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
)

var (
	long     = flag.Duration("torture.time", 0, "how long each attack goes on; 0 for its short form")
	seedFlag = flag.Uint64("torture.seed", 1, "seed of the attacks; 0 takes a new one for each")
)

// between is the interval of the progress messages of a long attack.
const between = 15 * time.Second

func now() time.Time { return clock.Computer.Now() }

// Run is one run of an attack. Only the test's goroutine may call its methods.
type Run struct {
	tb          testing.TB
	seed        uint64
	begin, told time.Time
	rounds      int
}

// Begin begins an attack and logs its seed.
func Begin(tb testing.TB) *Run {
	tb.Helper()
	r := &Run{tb: tb, seed: *seedFlag}
	for r.seed == 0 {
		r.seed = rand.Uint64()
	}
	tb.Logf("-torture.seed=%d", r.seed)
	return r
}

// Rand returns a random number generator. The numbers of different streams and of different tests
// are independent.
func (r *Run) Rand(stream int) *rand.Rand {
	name := fnv.New64a()
	_, _ = name.Write([]byte(r.tb.Name()))
	return rand.New(rand.NewPCG(r.seed^name.Sum64(), uint64(stream)))
}

// Next reports whether there is another round. Without -torture.time there are Part(short) rounds,
// or fewer if they take longer than patience. With -torture.time there are as many rounds as fit
// into that time. After a failure Next reports false.
func (r *Run) Next(short int, patience time.Duration) bool {
	r.tb.Helper()
	if r.tb.Failed() {
		return false
	}
	if r.rounds == 0 {
		r.begin = now()
		r.told = r.begin
	}
	took := now().Sub(r.begin)
	if *long > 0 {
		if now().Sub(r.told) > between {
			r.told = now()
			r.tb.Logf("%d rounds in %v of %v", r.rounds, took.Round(time.Second), *long)
		}
		short, patience = r.rounds+1, *long
	} else {
		short = Part(short)
	}
	if r.rounds > 0 && (r.rounds >= short || took > patience) {
		return false
	}
	r.rounds++
	return true
}

// Rounds returns the number of rounds so far.
func (r *Run) Rounds() int { return r.rounds }

// Time returns how long an attack without rounds runs.
func Time(short time.Duration) time.Duration {
	if *long > 0 {
		return *long
	}
	if testing.Short() && Long() {
		return short / 4
	}
	return short / time.Duration(Share())
}
