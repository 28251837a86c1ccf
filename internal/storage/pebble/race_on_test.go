//go:build race

package pebble

// raceEnabled tells measuring tests whether the race detector distorts their results.
const raceEnabled = true
