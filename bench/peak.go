package main

import "os"

// serveBudget is the default memory budget of the Sheaf servers, in bytes.
const serveBudget = 896 << 20

// embeddedBudget is the default memory budget of an embedded store, in bytes.
const embeddedBudget = 64 << 20

// peakOf returns the processes whose peak memory is reported for a side. For a side in this
// process, it is the whole program, including the client and other sides.
func peakOf(s interface {
	local() bool
	processes() []int
},
) []int {
	if s.local() {
		return []int{os.Getpid()}
	}
	return s.processes()
}
