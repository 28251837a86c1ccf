//go:build !race

package server

// raceEnabled says that pools give back less than they were given.
const raceEnabled = false
