// Package failpoint implements fail points: switches with which the tests of drivers make commands
// fail. configureFailPoint sets them; the most important one is failCommand.
//
// Invariants:
//
//  1. While no point is on, a command pays one atomic load.
//  2. Points are set only by configureFailPoint, which exists only with test commands.
//
// The package does not know the commands. It sees a command as a Call. To add a fail point, add its
// name to Names and a method to Points that applies it.
package failpoint
