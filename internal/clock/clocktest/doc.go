// Package clocktest has a clock that tests move: its timers fire when a test says that time has
// passed.
package clocktest
