//go:build race

package server

// raceEnabled is true in tests with the race detector, which makes pools drop some of their
// objects. So the tests cannot count allocations.
const raceEnabled = true
