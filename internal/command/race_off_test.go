//go:build !race

package command_test

// raceEnabled tells that pools lose what they hold, at random: allocations cannot be counted.
const raceEnabled = false
