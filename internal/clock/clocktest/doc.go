// Package clocktest provides a clock for tests. Its time moves, and its timers fire, only when a
// test advances it.
package clocktest
