//go:build race

package pebble

// raceEnabled tells tests that measure that there is no use.
const raceEnabled = true
