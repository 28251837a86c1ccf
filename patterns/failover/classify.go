package failover

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// outcome is what an error says about the operation.
type outcome int

const (
	// answered: the server has executed or refused it; to ask again would give the same.
	answered outcome = iota
	// unsent: it was certainly not executed.
	unsent
	// unknown: it was executed or not.
	unknown
)

// away are the codes of errors by which a member says that it is not, or not any more, the one to
// ask. One that arrives may be the answer to the driver's own second attempt, so that alone it does
// not say that the first one was not executed.
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

// classify says what is known after an error.
func classify(err error) outcome {
	if err == nil {
		return answered
	}
	// The driver returns it only where nothing was sent before.
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
	// Of a connection that was not to be had any more. It may hide the error of the driver's
	// attempt before.
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

// unreplicated reports whether a write was executed, but perhaps not by enough members to survive a
// fail-over.
func unreplicated(err error) bool {
	if one := (mongo.WriteException{}); errors.As(err, &one) {
		return one.WriteConcernError != nil
	}
	bulk := mongo.BulkWriteException{}
	return errors.As(err, &bulk) && bulk.WriteConcernError != nil
}
