//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("analytics", run)
	// Output:
	// line 601: eventlog: not a line of an access log
	// appended again, and found to be there: 50
	// 2026-04-30 / 200
	// 2026-04-30 /about 100
	// 2026-05-01 / 200
	// 2026-05-01 /about 100
	// eventlog: 0 violations
	// hits of / from 23:00 200
	// hits of / from 00:00 200
	// hits of / from 01:00 0
	// hits: 0 violations
	// requests from 23:00:00 3
	// requests from 23:00:30 2
	// timeseries: 0 violations
	// daily 2026-04-30 20900 bytes in 200 answers
	// daily 2026-05-01 20900 bytes in 200 answers
	// yearly 2026-01-01 41800 bytes in 400 answers
	// rollup: 0 violations
}
