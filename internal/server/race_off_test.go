//go:build !race

package server

// raceEnabled means that the race detector makes pools drop some of their objects.
const raceEnabled = false
