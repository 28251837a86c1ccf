//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("ticker", run)
	// Output:
	// all: shares.PIP at 12.50
	// all: shares.POP at 120.00
	// all: shares.PIP at 13.00
	// all: shares.PUP at 250.00
	// dear: shares.POP at 120.00
	// dear: shares.PUP at 250.00
	// booked: shares.PIP
	// booked: shares.POP
	// the bookkeeping stops, 2 messages behind
	// booked: shares.PIP
	// booked: shares.PUP
	// the bookkeeping stops, 0 messages behind
	// topic: 0 violations
}
