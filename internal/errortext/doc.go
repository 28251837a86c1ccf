// Package errortext prints errors in data-driven tests, and asks a MongoDB server for the true
// ones. Tests alone use it.
//
// An error is printed as its code's name and its text: "error BadValue: $in needs an array". A
// runner that is given the URI of a server prints what the server answers to a command that means
// the same as the case:
//
//	go test ./internal/expr -run TestOperators -rewrite -record 'mongodb://127.0.0.1:27017/?directConnection=true'
//
// A case keeps Sheaf's own error if the server accepts it, or if no command can express it. Read
// the difference after recording: where a newer server differs from the manual of MongoDB 8.0, the
// manual wins.
//
// To use it in a runner, print errors with Of where there is no Server, and with Server.Of where
// there is one.
package errortext
