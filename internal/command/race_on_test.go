//go:build race

package command_test

// raceEnabled means that the race detector makes pools drop some of their objects, so allocations
// cannot be counted.
const raceEnabled = true
