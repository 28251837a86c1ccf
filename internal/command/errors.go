package command

import (
	"errors"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// MaxErrorInfo is the largest total length of details (such as the keys of duplicates) in one
// reply, in bytes. An error whose details would exceed it gets none, except for the first error.
const MaxErrorInfo = limits.DocumentBytes

// DetailsOf returns the additional fields of an error, or nil if the message and the fields
// together are too large for a reply.
func DetailsOf(e *mongoerr.Error) bsonx.Doc {
	if len(e.Message)+len(e.Info) > MaxErrorInfo {
		return nil
	}
	return e.Info
}

// UserError converts an error to the error that the client gets. Storage errors get the code that
// MongoDB uses for them. Unknown errors get InternalError.
func UserError(err error) *mongoerr.Error {
	var e *mongoerr.Error
	code := mongoerr.InternalError
	switch {
	case storage.IsCorruption(err):
		code = mongoerr.DataCorruptionDetected // takes precedence: other errors may follow from the corruption
	case errors.As(err, &e):
		return legible(e)
	case errors.Is(err, storage.ErrConflict):
		return ErrWriteConflict
	case errors.Is(err, storage.ErrNoSpace), errors.Is(err, syscall.ENOSPC):
		code = mongoerr.OutOfDiskSpace
	case errors.Is(err, storage.ErrLongKeys):
		code = mongoerr.ExceededMemoryLimit
	case errors.Is(err, storage.ErrClosed):
		code = mongoerr.InterruptedAtShutdown
	}
	return mongoerr.New(code, "%s", err.Error())
}

// legible replaces invalid UTF-8 in the message of an error, which may quote such data. Drivers
// refuse a reply with invalid UTF-8.
func legible(e *mongoerr.Error) *mongoerr.Error {
	if utf8.ValidString(e.Message) {
		return e
	}
	out := *e
	out.Message = strings.ToValidUTF8(e.Message, "\uFFFD")
	return &out
}

// ErrWriteConflict is the error that a client gets for storage.ErrConflict.
var ErrWriteConflict = mongoerr.New(mongoerr.WriteConflict, "Caused by :: Write conflict during plan execution and yielding is disabled. :: "+
	"Please retry your operation or multi-document transaction.")

// IsTransient reports whether an error code means that the transaction had no effect and may
// succeed when it is tried again. Set ending for the error of commitTransaction or
// abortTransaction.
func IsTransient(code mongoerr.Code, ending bool) bool {
	switch code {
	case mongoerr.WriteConflict, mongoerr.LockTimeout, mongoerr.PreparedTransactionInProgress, mongoerr.SnapshotTooOld,
		mongoerr.SnapshotUnavailable, mongoerr.MigrationConflict, mongoerr.NoSuchTransaction:
		return true
	default:
		return !ending && IsRetriable(code)
	}
}

// IsRetriable reports whether a client may send the same command again after an error with this
// code.
func IsRetriable(code mongoerr.Code) bool {
	switch code {
	case mongoerr.HostUnreachable, mongoerr.HostNotFound, mongoerr.NetworkTimeout, mongoerr.ShutdownInProgress,
		mongoerr.PrimarySteppedDown, mongoerr.ExceededTimeLimit, mongoerr.SocketException, mongoerr.NotWritablePrimary,
		mongoerr.InterruptedAtShutdown, mongoerr.InterruptedDueToReplStateChange, mongoerr.NotPrimaryNoSecondaryOk,
		mongoerr.NotPrimaryOrSecondary, mongoerr.ReadConcernMajorityNotAvailableYet:
		return true
	default:
		return false
	}
}
