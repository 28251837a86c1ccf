//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("outpost", run)
	// Output:
	// the line is there: the stall says 250 (old: false) and keeps 0 writes; the office has 9 pens at 250
	// it is cut: the stall says 250 (old: true) and keeps 4 writes; the office has 9 pens at 300
	// it is back: the stall says 300 (old: false) and keeps 0 writes; the office has 7 pens at 300
	// moat: 0 violations
}
