package main

import "os"

// serveBudget is the memory budget of the served sides unless the command line says otherwise, in
// bytes.
const serveBudget = 896 << 20

// embeddedBudget is the default budget of an embedded store.
const embeddedBudget = 64 << 20

// peakOf returns the processes whose peak counts as a side's: its own, or this program, which then
// includes the client and the other sides in this process.
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
