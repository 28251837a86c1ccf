package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest is the longest time that a histogram can represent: an hour, in microseconds.
const longest = int64(time.Hour / time.Microsecond)

// Timing is a distribution of times. Mean, standard deviation, minimum and maximum are exact.
// Percentiles have 1 to 5 significant digits. A Timing stores only values that occurred, so a run
// can have thousands of Timings. It is not safe for concurrent use.
type Timing struct {
	n         int64
	sum       float64 // the sum in seconds
	squares   float64 // the sum of the squares, in square seconds
	low, high time.Duration
	digits    int
	histogram *hdrhistogram.PackedHistogram
}

// These constants bound the significant digits of percentiles.
const (
	minDigits = 1
	maxDigits = 5
)

// NewTiming returns an empty Timing whose percentiles have 1 to 5 significant digits.
func NewTiming(digits int) *Timing {
	return &Timing{digits: min(max(digits, minDigits), maxDigits)}
}

// Add adds a time. A negative time counts as 0.
func (t *Timing) Add(d time.Duration) {
	d = max(d, 0)
	if t.n == 0 || d < t.low {
		t.low = d
	}
	t.high = max(t.high, d)
	t.n++
	t.sum += d.Seconds()
	t.squares += d.Seconds() * d.Seconds()
	_ = t.hdr().RecordValue(min(d.Microseconds(), longest)) // a value within the bounds of the histogram gives no error
}

func (t *Timing) hdr() *hdrhistogram.PackedHistogram {
	if t.histogram == nil {
		t.digits = max(t.digits, minDigits) // the zero value has no digits
		t.histogram = hdrhistogram.NewPacked(1, longest, t.digits)
	}
	return t.histogram
}

// Merge adds the times of another Timing. The number of digits may differ.
func (t *Timing) Merge(o *Timing) {
	if o == nil || o.n == 0 {
		return
	}
	if t.n == 0 || o.low < t.low {
		t.low = o.low
	}
	t.high = max(t.high, o.high)
	t.n += o.n
	t.sum += o.sum
	t.squares += o.squares
	t.hdr().Merge(o.hdr())
}

// Count returns the number of times.
func (t *Timing) Count() int64 { return t.n }

// Mean returns the mean, or 0 if there are no times.
func (t *Timing) Mean() time.Duration {
	if t.n == 0 {
		return 0
	}
	return seconds(t.sum / float64(t.n))
}

// StdDev returns the standard deviation of all times, as of a whole population (the divisor is n).
func (t *Timing) StdDev() time.Duration {
	if t.n == 0 {
		return 0
	}
	mean := t.sum / float64(t.n)
	return seconds(math.Sqrt(max(0, t.squares/float64(t.n)-mean*mean)))
}

// Min returns the shortest time.
func (t *Timing) Min() time.Duration { return t.low }

// Max returns the longest time.
func (t *Timing) Max() time.Duration { return t.high }

// Percentile returns the time that p percent of the recorded times do not exceed.
func (t *Timing) Percentile(p float64) time.Duration {
	if t.n == 0 {
		return 0
	}
	d := time.Duration(t.hdr().ValueAtPercentile(p)) * time.Microsecond
	return min(max(d, t.low), t.high)
}

// Bar is a bar of a histogram: the number of times in a range.
type Bar struct {
	From, To time.Duration
	Count    int64
}

// Bars returns the histogram of the times. It has no bars for empty ranges.
func (t *Timing) Bars() (out []Bar) {
	if t.n == 0 {
		return nil
	}
	dense := hdrhistogram.New(1, longest, t.digits)
	t.hdr().MergeInto(dense)
	for _, b := range dense.Distribution() {
		if b.Count > 0 {
			out = append(out, Bar{
				From: time.Duration(b.From) * time.Microsecond,
				To:   time.Duration(b.To) * time.Microsecond, Count: b.Count,
			})
		}
	}
	return out
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// stored is the JSON form of a Timing: figures in milliseconds for people, and the histogram for
// programs.
type stored struct {
	Count     int64   `json:"count"`
	Mean      float64 `json:"mean"`
	StdDev    float64 `json:"stdDev"`
	P50       float64 `json:"p50"`
	P75       float64 `json:"p75"`
	P95       float64 `json:"p95"`
	P99       float64 `json:"p99"`
	P999      float64 `json:"p999"`
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	Sum       float64 `json:"sumSeconds"`
	Squares   float64 `json:"sumOfSquares"`
	Digits    int     `json:"digits"`
	Histogram string  `json:"histogram,omitempty"`
}

// Millis returns a duration in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func millis(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}

// MarshalJSON implements json.Marshaler.
func (t *Timing) MarshalJSON() ([]byte, error) {
	s := stored{
		Count: t.n, Mean: Millis(t.Mean()), StdDev: Millis(t.StdDev()), Min: Millis(t.low), Max: Millis(t.high),
		Sum: t.sum, Squares: t.squares, Digits: t.digits,
		P50: Millis(t.Percentile(50)), P75: Millis(t.Percentile(75)), P95: Millis(t.Percentile(95)),
		P99: Millis(t.Percentile(99)), P999: Millis(t.Percentile(99.9)),
	}
	if t.n > 0 {
		text, err := t.hdr().Encode()
		if err != nil {
			return nil, fmt.Errorf("encode a histogram: %w", err)
		}
		s.Histogram = string(text)
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Timing) UnmarshalJSON(data []byte) error {
	s := stored{}
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	out := NewTiming(s.Digits)
	out.n, out.sum, out.squares, out.low, out.high = s.Count, s.Sum, s.Squares, millis(s.Min), millis(s.Max)
	if err := s.valid(); err != nil {
		return err
	}
	if s.Count > 0 {
		h, err := s.decode()
		if err != nil {
			return fmt.Errorf("decode a histogram: %w", err)
		}
		out.histogram = h
	}
	*t = *out
	return nil
}

// errTiming is returned if the stored figures of a Timing contradict each other.
var errTiming = errors.New("not a distribution of times")

func (s *stored) valid() error {
	switch {
	case s.Count == 0 && s.Histogram == "":
		return nil
	case s.Count <= 0 || s.Min < 0 || s.Max < s.Min || s.Max > Millis(math.MaxInt64) || s.Sum < 0 || s.Squares < 0:
		return fmt.Errorf("%w: count %d, min %v, max %v, sum %v, sum of squares %v", errTiming, s.Count,
			s.Min, s.Max, s.Sum, s.Squares)
	case s.Digits < minDigits || s.Digits > maxDigits:
		return fmt.Errorf("%w: percentiles of %d digits", errTiming, s.Digits)
	}
	return nil
}

// decode parses the histogram. It must have the form that NewTiming gives it; other forms would
// lose counts when they are added up.
func (s *stored) decode() (*hdrhistogram.PackedHistogram, error) {
	h, err := hdrhistogram.DecodePacked([]byte(s.Histogram))
	if err != nil {
		return nil, err
	}
	if h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != longest ||
		h.SignificantFigures() != int64(s.Digits) {
		return nil, fmt.Errorf("%w: from %d to %d µs with %d digits, not 1 to %d with %d",
			errTiming, h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures(), longest, s.Digits)
	}
	if h.TotalCount() != s.Count {
		return nil, fmt.Errorf("%w: the histogram has %d times, not %d", errTiming, h.TotalCount(), s.Count)
	}
	return h, nil
}
