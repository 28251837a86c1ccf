package command

import (
	"errors"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// DetailsOf returns the fields that an error adds to a reply. It returns nil if the reply would be
// too large with them.
func DetailsOf(e *mongoerr.Error) bsonx.Doc {
	if len(e.Message)+len(e.Info) > maxErrorInfo {
		return nil
	}
	return e.Info
}

// UserError returns the error that a client gets. An error of the storage gets the code that
// MongoDB has for it, and one that is not known InternalError.
func UserError(err error) *mongoerr.Error {
	var e *mongoerr.Error
	code := mongoerr.InternalError
	switch {
	case storage.IsCorruption(err):
		code = mongoerr.DataCorruptionDetected // whatever else was wrong because of it
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

// legible makes a message UTF-8 that quotes data which is not: drivers refuse a reply with such a
// message.
func legible(e *mongoerr.Error) *mongoerr.Error {
	if utf8.ValidString(e.Message) {
		return e
	}
	out := *e
	out.Message = strings.ToValidUTF8(e.Message, "\uFFFD")
	return &out
}

// ErrWriteConflict is the user error for storage.ErrConflict.
var ErrWriteConflict = mongoerr.New(mongoerr.WriteConflict, "Caused by :: Write conflict during plan execution and yielding is disabled. :: "+
	"Please retry your operation or multi-document transaction.")

// IsTransient reports whether a transaction that failed with a code had no effect, and may succeed
// when it is tried again. ending is for the errors of its commit or abort.
func IsTransient(code mongoerr.Code, ending bool) bool {
	switch code {
	case mongoerr.WriteConflict, mongoerr.LockTimeout, mongoerr.PreparedTransactionInProgress, mongoerr.SnapshotTooOld,
		mongoerr.SnapshotUnavailable, mongoerr.MigrationConflict, mongoerr.NoSuchTransaction:
		return true
	default:
		return !ending && IsRetriable(code)
	}
}

// IsRetriable reports whether a command that failed with a code may be sent again as it is.
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
