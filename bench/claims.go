package main

import (
	"fmt"
	"slices"
)

// claim is a figure that the project promises, with its target.
type claim struct {
	Name string
	// Group is the heading of the claim in the report.
	Group  string
	Target float64
	// AtMost makes the target an upper limit. Otherwise it is a lower limit.
	AtMost bool
	Unit   string
	value  func(*results) (float64, bool)
}

// verdict is a claim with its measured value, and whether that value reaches the target.
type verdict struct {
	Name     string   `json:"claim"`
	Group    string   `json:"group"`
	Target   float64  `json:"target"`
	AtMost   bool     `json:"at_most,omitempty"`
	Unit     string   `json:"unit"`
	Measured *float64 `json:"measured"`
	Verdict  string   `json:"verdict"`
}

// The values of verdict.Verdict.
const (
	verdictOK      = "ok"
	verdictShort   = "short"
	verdictMissing = "not measured"
)

const (
	groupFloor     = "Beside the floors"
	groupAlone     = "Alone"
	groupResources = "Resources"
	groupPostgres  = "Beside PostgreSQL"
	groupPeer      = "Beside another MongoDB"
	groupBefore    = "Beside the build before"
)

// claims lists the claims of the project in the order of the report.
var claims = []claim{
	{
		"TCP, 16 clients: find by _id ÷ floor", groupFloor, 0.70, false, "x",
		ratio("find-id-16", sideSheaf, "find-id-16", sideFloor),
	},
	{
		"TCP, 16 clients: insert, unsynced ÷ floor", groupFloor, 0.60, false, "x",
		ratio("insert-16", sideSheaf, "insert-16", sideFloor),
	},
	{
		"TCP, 16 clients: update {$inc} by _id, unsynced ÷ floor", groupFloor, 0.55, false, "x",
		ratio("update-inc-16", sideSheaf, "update-inc-16", sideFloor),
	},
	{"TCP, 64 clients: synced insert ÷ raw Pebble's group commit", groupFloor, 0.50, false, "x", ratio("insert-synced-64", sideSheaf, "insert-synced-64", sidePebble)},
	{
		"embedded, 1 goroutine: find by _id ÷ in-memory floor", groupFloor, 0.60, false, "x",
		ratio("find-id-1", sideEmbedded, "find-id-1", sideFloorMemory),
	},
	{
		"embedded, 1 goroutine: insert ÷ in-memory floor", groupFloor, 0.50, false, "x",
		ratio("insert-1", sideEmbedded, "insert-1", sideFloorMemory),
	},
	{"server CPU per ping, 16 clients ÷ floor", groupFloor, 1.05, true, "x", cpuRatio("ping-16")},
	{"server CPU per ping, 1 client ÷ floor", groupFloor, 1.10, true, "x", cpuRatio("ping-1")},
	{
		"equality on a secondary index ÷ find by _id", groupFloor, 0.75, false, "x",
		ratio("index-equal-16", sideSheaf, "find-id-16", sideSheaf),
	},

	{
		"embedded insertMany of 1,000, documents/s", groupAlone, 150_000, false, "/s",
		rate("insert-many-1000", sideEmbedded),
	},
	{
		"unindexed filter, documents/s scanned, served", groupAlone, 1_500_000, false, "/s",
		rate("scan-count", sideSheaf),
	},
	{
		"unindexed filter, documents/s scanned, embedded", groupAlone, 1_500_000, false, "/s",
		rate("scan-count", sideEmbedded),
	},
	{"allocations per find by _id, server side", groupAlone, 25, true, "", allocs("find-id-1")},
	{"allocations per insert, server side", groupAlone, 25, true, "", allocs("insert-1")},
	{"server CPU per insert", groupAlone, 20, true, "µs", cpu("insert-16", sideSheaf)},
	{"server CPU per find by _id", groupAlone, 16, true, "µs", cpu("find-id-16", sideSheaf)},
	{"server CPU per update", groupAlone, 25, true, "µs", cpu("update-inc-16", sideSheaf)},

	{"resident memory of an idle server", groupResources, 40, true, "MB", resource(resIdle)},
	{"10,000 idle connections in all", groupResources, 250, true, "MB", tenThousand},
	{"peak memory ÷ budget, served, worst workload", groupResources, 1.25, true, "x", worstPeak},
	{"start on an empty directory", groupResources, 50, true, "ms", resource(resStartEmpty)},
	{"start on 1 GB", groupResources, 150, true, "ms", resource(resStartFull)},
	{"binary", groupResources, 40, true, "MB", resource(resBinary)},

	{
		"find by _id, 16 clients ÷ PostgreSQL", groupPostgres, 0.9, false, "x",
		ratio("find-id-16", sideSheaf, "find-id-16", sidePostgres),
	},
	{
		"insert, unsynced ÷ PostgreSQL, unsynced", groupPostgres, 1, false, "x",
		ratio("insert-16", sideSheaf, "insert-16", sidePostgres),
	},
	{
		"insert, synced ÷ PostgreSQL, synced", groupPostgres, 1, false, "x",
		ratio("insert-synced-16", sideSheaf, "insert-synced-16", sidePostgres),
	},
	{
		"update {$inc}, unsynced ÷ PostgreSQL, unsynced", groupPostgres, 1, false, "x",
		ratio("update-inc-16", sideSheaf, "update-inc-16", sidePostgres),
	},
	{
		"update {$inc}, synced ÷ PostgreSQL, synced", groupPostgres, 1, false, "x",
		ratio("update-inc-synced-16", sideSheaf, "update-inc-synced-16", sidePostgres),
	},
	{
		"equality on a secondary index ÷ PostgreSQL", groupPostgres, 0.9, false, "x",
		ratio("index-equal-16", sideSheaf, "index-equal-16", sidePostgres),
	},
	{
		"range of 100 documents ÷ PostgreSQL", groupPostgres, 1.2, false, "x",
		ratio("index-range-100", sideSheaf, "index-range-100", sidePostgres),
	},
	{
		"compound equality + sort + limit 20 ÷ PostgreSQL", groupPostgres, 0.8, false, "x",
		ratio("compound-sort-limit-20", sideSheaf, "compound-sort-limit-20", sidePostgres),
	},
	{
		"unindexed count ÷ PostgreSQL", groupPostgres, 2, false, "x",
		ratio("scan-count", sideSheaf, "scan-count", sidePostgres),
	},
	{
		"sort of 100,000, first 100 ÷ PostgreSQL", groupPostgres, 1, false, "x",
		ratio("sort-first-100", sideSheaf, "sort-first-100", sidePostgres),
	},
	{
		"sort of 100,000, all in order ÷ PostgreSQL", groupPostgres, 1, false, "x",
		ratio("sort-all", sideSheaf, "sort-all", sidePostgres),
	},
	{
		"distinct by index ÷ PostgreSQL", groupPostgres, 20, false, "x",
		ratio("distinct", sideSheaf, "distinct", sidePostgres),
	},
}

// beforeClaims lists the claims about workload E in comparison with an earlier build.
var beforeClaims = []claim{
	{"YCSB-E, unsynced ÷ before", groupBefore, 1.3, false, "x", ratio("ycsb-e-16", sideSheaf, "ycsb-e-16", sideBefore)},
	{"p99 of YCSB-E, unsynced ÷ before", groupBefore, 0.5, true, "x", slowestRatio("ycsb-e-16", sideBefore)},
	{
		"YCSB-E, synced ÷ before", groupBefore, 1.3, false, "x",
		ratio("ycsb-e-synced-16", sideSheaf, "ycsb-e-synced-16", sideBefore),
	},
	{"p99 of YCSB-E, synced ÷ before", groupBefore, 0.5, true, "x", slowestRatio("ycsb-e-synced-16", sideBefore)},
}

// judge compares the claims with the results. If a peer or an earlier build was measured, it also
// compares the claims about it. There is one claim about the peer for each workload that the peer
// ran.
func judge(r *results) []verdict {
	all := claims
	if slices.Contains(r.sides(), sideBefore) {
		all = append(all[:len(all):len(all)], beforeClaims...)
	}
	for _, w := range workloads {
		if _, ok := rate(w.Name, sidePeer)(r); ok {
			all = append(all[:len(all):len(all)], claim{
				Name: fmt.Sprintf("%s ÷ peer", w.Name), Group: groupPeer, Target: 1, Unit: "x",
				value: ratio(w.Name, sideSheaf, w.Name, sidePeer),
			})
		}
	}
	return verdicts(all, r)
}

// verdicts compares each claim with the results.
func verdicts(all []claim, r *results) []verdict {
	verdicts := make([]verdict, 0, len(all))
	for _, c := range all {
		v := verdict{
			Name: c.Name, Group: c.Group, Target: c.Target, AtMost: c.AtMost,
			Unit: c.Unit, Verdict: verdictMissing,
		}
		if got, ok := c.value(r); ok {
			v.Measured, v.Verdict = &got, verdictShort
			if (c.AtMost && got <= c.Target) || (!c.AtMost && got >= c.Target) {
				v.Verdict = verdictOK
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

func rate(workload, side string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		f := r.figure(workload, side)
		if f == nil || f.Rate == 0 {
			return 0, false
		}
		return f.Rate, true
	}
}

// millis returns a function that computes the time of one operation, in milliseconds. The workload
// must have a single client.
func millis(workload, side string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		perSecond, ok := rate(workload, side)(r)
		if !ok {
			return 0, false
		}
		return 1000 / perSecond, true
	}
}

// ratio returns a function that computes the ratio of two rates: the rate of a workload on a side,
// divided by the rate of another workload, another side or both.
func ratio(workload, side, toWorkload, toSide string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		a, okA := rate(workload, side)(r)
		b, okB := rate(toWorkload, toSide)(r)
		if !okA || !okB {
			return 0, false
		}
		return a / b, true
	}
}

func cpu(workload, side string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		f := r.figure(workload, side)
		if f == nil || f.CPUMicros == nil {
			return 0, false
		}
		return *f.CPUMicros, true
	}
}

// cpuRatio returns a function that divides Sheaf's processor time for a workload by the processor
// time of the floor server.
func cpuRatio(workload string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		own, ok := cpu(workload, sideSheaf)(r)
		floor, okFloor := cpu(workload, sideFloor)(r)
		if !ok || !okFloor || floor == 0 {
			return 0, false
		}
		return own / floor, true
	}
}

// slowestRatio returns a function that divides Sheaf's p99 latency by the p99 latency of another
// side.
func slowestRatio(workload, toSide string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		own, other := r.figure(workload, sideSheaf), r.figure(workload, toSide)
		if own == nil || other == nil || other.Latencies.P99 == 0 {
			return 0, false
		}
		return own.Latencies.P99 / other.Latencies.P99, true
	}
}

// worstPeak returns the largest ratio of peak memory to budget of the served side, over all
// workloads.
func worstPeak(r *results) (float64, bool) {
	worst := 0.0
	for _, w := range r.Workloads {
		if f := w.Sides[sideSheaf]; f != nil && f.BudgetMB > 0 {
			worst = max(worst, f.PeakMB/f.BudgetMB)
		}
	}
	return worst, worst > 0
}

// allocs returns a function that computes the allocations of the embedded server per operation. It
// subtracts the allocations of the floor, which has the same client and transport, and whose server
// allocates nothing.
func allocs(workload string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		with, floor := r.figure(workload, sideEmbedded), r.figure(workload, sideFloorMemory)
		if with == nil || floor == nil || with.Allocs == nil || floor.Allocs == nil {
			return 0, false
		}
		return *with.Allocs - *floor.Allocs, true
	}
}

func resource(name string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		v, ok := r.Resources[name]
		return v, ok
	}
}

// tenThousand returns the memory of the server with 10,000 connections, if so many could be opened.
func tenThousand(r *results) (float64, bool) {
	v, ok := r.Resources[resConnsRSS]
	return v, ok && r.Resources[resConns] >= 10_000
}
