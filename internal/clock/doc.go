// Package clock tells Sheaf the time. Code that needs the time takes a Clock, so that a test can
// decide what time it is.
//
// Concepts:
//
//   - System is the computer's clock. Fixed is a clock that stands still.
//   - Computer is the computer's clock for time that the processor or the disk takes. OrSystem is
//     the default of options that take a clock.
//   - Settle makes a clock that ignores a jump forward of more than ten seconds until the jump has
//     lasted for a minute. It is for work that a wrong time would damage permanently: TTL deletes
//     and oplog timestamps.
//   - Since measures a duration with the computer's monotonic clock if it can.
//
// Invariants:
//
//  1. Every Clock of this package is safe for concurrent use.
//  2. This package imports no other package of the project.
//
// A Clock only tells the time. AfterFunc, NewTimer, NewTicker, Sleep and WithTimeout follow the
// time of a Driver. For every other Clock they follow the computer's time.
//
// To add a clock, write a type with a method Now, in a file named after the type.
package clock
