package load

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// ErrLoad is returned for an invalid load.
var ErrLoad = errors.New("load: invalid load")

// The shapes of a load say how many users start in each iteration.
const (
	Constant = "constant" // Users users in each iteration
	Ramp     = "ramp"     // from From users in the first iteration to Users users in the last, linearly
	Steps    = "steps"    // the numbers in the field Steps, each for an equal share of the iterations
	Poisson  = "poisson"  // Users users on average, at random moments
)

// The spreads of a load say when the users of an iteration start.
const (
	Slice = "slice" // evenly over the iteration, as in the books' slicetime
	Burst = "burst" // all at the beginning of the iteration
)

// The defaults of a load are the values of the books.
const (
	DefaultIterations = 25
	DefaultResolution = time.Second
)

// Bounds of a load.
const (
	MaxIterations = 100_000
	MaxUsers      = 1_000_000
	MaxDelay      = 24 * time.Hour
)

// Load says how many users start, and when. The load is open: users start whether or not earlier
// users have ended.
type Load struct {
	// Iterations is the number of iterations. Resolution is the length of each. Zero means 25
	// iterations of one second.
	Iterations int           `yaml:"iterations,omitempty" json:"iterations"`
	Resolution time.Duration `yaml:"resolution,omitempty" json:"resolution"`
	// Users is how many users start in each iteration. For residents, it is their total number.
	Users int `yaml:"users,omitempty" json:"users"`
	// Shape is one of Constant, Ramp, Steps and Poisson. Empty means Constant.
	Shape string `yaml:"shape,omitempty" json:"shape,omitempty"`
	From  int    `yaml:"from,omitempty" json:"from,omitempty"`
	Steps []int  `yaml:"steps,omitempty" json:"steps,omitempty"`
	// Spread is Slice or Burst. Empty means Slice.
	Spread string `yaml:"spread,omitempty" json:"spread,omitempty"`
	// Delay is the time from the start of the run to the first iteration.
	Delay time.Duration `yaml:"delay,omitempty" json:"delay,omitempty"`
}

// WithDefaults returns the load with defaults in place of zero values.
func (l Load) WithDefaults(users int) Load {
	if l.Iterations == 0 {
		l.Iterations = DefaultIterations
	}
	if l.Resolution == 0 {
		l.Resolution = DefaultResolution
	}
	if l.Users == 0 {
		l.Users = users
	}
	if l.Shape == "" {
		l.Shape = Constant
	}
	if l.Spread == "" {
		l.Spread = Slice
	}
	return l
}

// Validate returns an error for an invalid load. The defaults must be set.
func (l Load) Validate() error {
	switch {
	case l.Iterations < 1 || l.Iterations > MaxIterations:
		return fmt.Errorf("%w: %d iterations; there can be 1 to %d", ErrLoad, l.Iterations, MaxIterations)
	case l.Resolution < time.Millisecond || l.Resolution > time.Hour:
		return fmt.Errorf("%w: a resolution of %v; it can be 1ms to 1h", ErrLoad, l.Resolution)
	case l.Users < 1 || l.Users > MaxUsers:
		return fmt.Errorf("%w: %d users; there can be 1 to %d", ErrLoad, l.Users, MaxUsers)
	case l.From < 0 || l.From > MaxUsers:
		return fmt.Errorf("%w: a ramp from %d users; there can be 0 to %d", ErrLoad, l.From, MaxUsers)
	case l.Delay < 0 || l.Delay > MaxDelay:
		return fmt.Errorf("%w: a delay of %v; it can be up to %v", ErrLoad, l.Delay, MaxDelay)
	case !slices.Contains([]string{Constant, Ramp, Steps, Poisson}, l.Shape):
		return fmt.Errorf("%w: shape %q; it can be constant, ramp, steps or poisson", ErrLoad, l.Shape)
	case !slices.Contains([]string{Slice, Burst}, l.Spread):
		return fmt.Errorf("%w: spread %q; it can be slice or burst", ErrLoad, l.Spread)
	case l.Shape == Steps && (len(l.Steps) == 0 || len(l.Steps) > l.Iterations):
		return fmt.Errorf("%w: %d steps in %d iterations", ErrLoad, len(l.Steps), l.Iterations)
	case l.Shape == Steps && (slices.Min(l.Steps) < 0 || slices.Max(l.Steps) > MaxUsers):
		return fmt.Errorf("%w: steps of %v users; there can be 0 to %d", ErrLoad, l.Steps, MaxUsers)
	}
	return nil
}

// Schedule returns how long the iterations of a load take. If the server keeps up, the run does not
// take much longer.
func (l Load) Schedule() time.Duration { return l.Delay + time.Duration(l.Iterations)*l.Resolution }

// Total returns how many users a load starts. If shares is over 1, it returns how many of them the
// process with the number share starts.
func (l Load) Total(seed uint64, share, shares int) int64 {
	n := int64(0)
	for i := range l.Iterations {
		n += int64(l.usersOf(i, l.random(i, seed)))
	}
	return (n + int64(shares-1-share)) / int64(shares)
}

// random returns the random number generator of iteration i.
func (l Load) random(i int, seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(i))) }

// usersOf returns how many users start in iteration i. Only Poisson uses the random numbers.
func (l Load) usersOf(i int, random *rand.Rand) int {
	switch l.Shape {
	case Ramp:
		if l.Iterations == 1 {
			return l.Users
		}
		return l.From + int(math.Round(float64(l.Users-l.From)*float64(i)/float64(l.Iterations-1)))
	case Steps:
		return l.Steps[i*len(l.Steps)/l.Iterations]
	case Poisson:
		return poisson(random, float64(l.Users))
	default:
		return l.Users
	}
}

// offsets returns the start times of the users of iteration i, counted from its beginning. The same
// seed gives the same times.
func (l Load) offsets(i int, seed uint64) []time.Duration {
	random := l.random(i, seed)
	out := make([]time.Duration, l.usersOf(i, random))
	if l.Spread == Burst {
		return out
	}
	for j := range out {
		if l.Shape == Poisson {
			out[j] = time.Duration(random.Int64N(int64(l.Resolution)))
		} else {
			out[j] = l.Resolution * time.Duration(j) / time.Duration(len(out))
		}
	}
	slices.Sort(out)
	return out
}

// poisson draws a number of events with a given mean. It counts how many exponentially distributed
// waits fit (Knuth, The Art of Computer Programming, volume 2, 3.4.1). It does so in parts, because
// the product of many waits would underflow.
func poisson(random *rand.Rand, mean float64) int {
	n, left := 0, mean
	for left > 0 {
		part := min(left, 500)
		left -= part
		limit, product := math.Exp(-part), random.Float64()
		for product > limit {
			n++
			product *= random.Float64()
		}
	}
	return n
}
