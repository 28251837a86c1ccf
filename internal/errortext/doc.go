// Package errortext prints errors in data-driven tests, and gets the expected errors from a MongoDB
// server. Only tests use it.
//
// An error is printed as its code's name and its text: "error BadValue: $in needs an array". With
// the URI of a server, a runner sends the server a command with the same meaning as the case, and
// prints the server's error:
//
//	go test ./internal/expr -run TestOperators -rewrite -record 'mongodb://127.0.0.1:27017/?directConnection=true'
//
// A case keeps Sheaf's own error if the server accepts the command, or if no command can express
// the case. Read the difference after recording: if a newer server differs from the manual of
// MongoDB 8.0, the manual is right.
//
// A runner without a Server prints errors with Of, and with a Server it prints them with Server.Of.
package errortext
