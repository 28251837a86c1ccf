package main

import (
	"math/bits"
	"time"
)

const (
	// fineBits sets the resolution of a histogram. With 5 bits, the width of a bucket is at most
	// 1/32 of its smallest latency.
	fineBits = 5
	fine     = 1 << fineBits
)

// histogram counts latencies in buckets whose width grows with the latency. Recording a latency
// allocates nothing.
type histogram struct {
	counts [(64 - fineBits) * fine]int64
	total  int64
}

// bucketOf returns the bucket of a latency in nanoseconds.
func bucketOf(ns int64) int {
	n := uint64(max(ns, 0))
	if n < fine {
		return int(n)
	}
	shift := bits.Len64(n) - fineBits - 1
	return shift*fine + int(n>>shift)
}

// upperEnd returns the largest latency of a bucket.
func upperEnd(bucket int) int64 {
	if bucket < 2*fine {
		return int64(bucket)
	}
	shift := bucket/fine - 1
	return int64(bucket%fine+fine+1)<<shift - 1
}

// record counts one latency.
func (h *histogram) record(d time.Duration) {
	h.counts[bucketOf(int64(d))]++
	h.total++
}

// add adds the counts of another histogram.
func (h *histogram) add(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// quantile returns the latency in µs that a share q of all latencies does not exceed. It returns 0
// if nothing was recorded.
func (h *histogram) quantile(q float64) float64 {
	rank := max(int64(q*float64(h.total)+0.5), 1)
	for i, n := range h.counts {
		if rank -= n; rank <= 0 && n > 0 {
			return micros(time.Duration(upperEnd(i)))
		}
	}
	return 0
}

// latencies holds quantiles of the latencies of a measurement, in µs.
type latencies struct {
	P50  float64 `json:"p50_us"`
	P99  float64 `json:"p99_us"`
	P999 float64 `json:"p999_us"`
}

// latenciesOf computes the quantiles over the latencies of all workers.
func latenciesOf(workers []*worker) latencies {
	var all histogram
	for _, w := range workers {
		all.add(&w.taken)
	}
	return latencies{all.quantile(0.5), all.quantile(0.99), all.quantile(0.999)}
}

// medianLatencies returns for each quantile the median over the samples.
func medianLatencies(samples []sample) latencies {
	pick := func(quantile func(latencies) float64) float64 {
		v := make([]float64, len(samples))
		for i, s := range samples {
			v[i] = quantile(s.latencies)
		}
		return median(v)
	}
	return latencies{
		P50:  pick(func(l latencies) float64 { return l.P50 }),
		P99:  pick(func(l latencies) float64 { return l.P99 }),
		P999: pick(func(l latencies) float64 { return l.P999 }),
	}
}
