// Package mongoerr has the errors that a MongoDB client sees: a numeric code, the code's name, a
// message and, where MongoDB sends them, labels and further reply fields.
//
// Sheaf keeps three kinds of failure apart:
//
//   - A user error is a *mongoerr.Error. The code that finds the mistake makes it.
//   - Corruption of stored data is an error for which storage.IsCorruption reports true.
//   - A bug is a panic. It is caught at the edge of a command and answered as InternalError.
//
// Invariants:
//
//  1. An Error does not change once it was returned. WithInfo, WithLabel and Prefix return
//     copies.
//  2. A message has at most MaxMessage bytes.
//  3. Every code has a name: the one in codes.go, or "Location" and the number.
//
// The package makes no replies: package command does, in one place. It does not log.
//
// To add a code that MongoDB has a name for: a constant in codes.go, in numerical order, and its
// name in the table there. A code without a name is a constant beside the code that uses it.
package mongoerr
