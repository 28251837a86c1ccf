package session

import "github.com/sheafdb/sheaf/internal/mongoerr"

// Codes of operations that are ended from outside.
const (
	codeInterruptedAtShutdown = mongoerr.Code(11600)
	codeInterrupted           = mongoerr.Code(11601)
)
