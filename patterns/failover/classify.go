package failover

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// outcome is the meaning of an error for the operation.
type outcome int

const (
	// answered: the server has executed or refused the operation; another attempt would give the
	// same result.
	answered outcome = iota
	// unsent: the operation was certainly not executed.
	unsent
	// unknown: the operation may or may not have been executed.
	unknown
)

// away lists the error codes with which a member says that it cannot serve the operation, or cannot
// serve it any more. Such an error may be the answer to the driver's own second attempt. Therefore
// it does not prove that the first attempt was not executed.
var away = []int{
	6,     // HostUnreachable
	7,     // HostNotFound
	89,    // NetworkTimeout
	91,    // ShutdownInProgress
	133,   // FailedToSatisfyReadPreference
	134,   // ReadConcernMajorityNotAvailableYet
	189,   // PrimarySteppedDown
	262,   // ExceededTimeLimit
	9001,  // SocketException
	10107, // NotWritablePrimary
	11600, // InterruptedAtShutdown
	11602, // InterruptedDueToReplStateChange
	13435, // NotPrimaryNoSecondaryOk
	13436, // NotPrimaryOrSecondary
}

// classify returns the meaning of an error.
func classify(err error) outcome {
	if err == nil {
		return answered
	}
	// The driver returns this error only if it has sent nothing before.
	if selection := (topology.ServerSelectionError{}); errors.As(err, &selection) {
		return unsent
	}
	if labeled := mongo.LabeledError(nil); errors.As(err, &labeled) {
		switch {
		case labeled.HasErrorLabel("NoWritesPerformed"):
			return unsent
		case labeled.HasErrorLabel("RetryableWriteError"), labeled.HasErrorLabel("UnknownTransactionCommitResult"):
			return unknown
		}
	}
	// No connection was available. This error may hide the error of an earlier attempt of the
	// driver.
	if pool := driver.RetryablePoolError(nil); errors.As(err, &pool) {
		return unknown
	}
	if mongo.IsNetworkError(err) || mongo.IsTimeout(err) || errors.Is(err, context.Canceled) || unreplicated(err) {
		return unknown
	}
	if server := mongo.ServerError(nil); errors.As(err, &server) && slices.ContainsFunc(away, server.HasErrorCode) {
		return unknown
	}
	return answered
}

// unreplicated reports whether a write was executed, but perhaps not on enough members to survive a
// failover.
func unreplicated(err error) bool {
	if one := (mongo.WriteException{}); errors.As(err, &one) {
		return one.WriteConcernError != nil
	}
	bulk := mongo.BulkWriteException{}
	return errors.As(err, &bulk) && bulk.WriteConcernError != nil
}
