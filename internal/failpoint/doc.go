// Package failpoint has the fail points by which the tests of drivers make commands fail:
// failCommand and the few others that configureFailPoint sets.
//
// Invariants:
//
//  1. While no point is on, a command pays one atomic load.
//  2. Points are set only by configureFailPoint, which exists only with test commands.
//
// The package knows no commands: it sees a command as a Call. To add a fail point, add its name to
// Names and a method to Points that applies it.
package failpoint
