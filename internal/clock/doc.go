// Package clock is where Sheaf gets the time from. Code that needs the time takes a Clock, so
// that a test decides what time it is.
//
// Concepts:
//
//   - System is the computer's clock, Fixed a clock that stands still.
//   - Settle makes a clock that does not follow a jump forward until the jump has lasted a
//     minute. It is for work that a wrong time would harm for good: TTL deletes and oplog
//     timestamps.
//   - Since measures a duration by the computer's monotonic clock where it can.
//
// Invariants:
//
//  1. Every Clock of this package is safe for concurrent use.
//  2. This package imports nothing of the project.
//
// The package has no timers and no tickers: a Clock only tells the time.
//
// To add a clock: a type with a method Now, in a file of its name.
package clock
