// Package mongoerr defines the errors that a MongoDB client sees. An error has a numeric code, the
// code's name and a message. If MongoDB sends labels or further reply fields, the error has them,
// too.
//
// Sheaf distinguishes three kinds of failure:
//
//   - A user error is a *mongoerr.Error. The code that finds the mistake creates it.
//   - Corruption of stored data is an error for which storage.IsCorruption reports true.
//   - A bug is a panic. The command dispatcher recovers it and replies with InternalError.
//
// Invariants:
//
//  1. An Error does not change after it is returned. WithInfo, WithLabel and Prefix return copies.
//  2. A message has at most MaxMessage bytes.
//  3. Every code has a name: the name in codes.go, or "Location" and the number.
//
// The package does not build replies, and it does not log. Package command builds all replies in
// one place.
//
// To add a code that MongoDB has a name for, add a constant to codes.go, in numerical order, and
// its name to the table there. A code without a name is a constant next to the code that uses it.
package mongoerr
