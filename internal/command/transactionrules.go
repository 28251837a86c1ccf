package command

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// What may run in a transaction, and which labels errors get.

// CheckTransaction applies the rules of mongod's session options.
func (r *Request) CheckTransaction(d *Definition) error {
	g := &r.Generic
	if d.NoAuth {
		g.HasTxnNumber, g.Autocommit, g.StartTxn = false, BoolAbsent, BoolAbsent
		return nil
	}
	if !g.HasTxnNumber {
		return checkNoTransaction(g)
	}
	if err := checkTransactionFields(g); err != nil {
		return err
	}
	if !r.Service.Replicates() {
		return mongoerr.New(mongoerr.IllegalOperation, "Transaction numbers are only allowed on a replica set member or mongos")
	}
	if !g.InTransaction() {
		if d.Retryable {
			return nil
		}
		return mongoerr.New(codeNotRetryable, "txnNumber may only be provided for multi-document transactions and retryable write "+
			"commands. autocommit:false was not provided, and %s is not a retryable write command.", r.Name)
	}
	if err := r.checkInTransaction(d); err != nil {
		return err
	}
	return checkTransactionConcerns(d, g)
}

const codeNotRetryable = mongoerr.Code(50768)

func checkNoTransaction(g *Generic) error {
	switch {
	case g.Autocommit != BoolAbsent:
		return mongoerr.New(mongoerr.InvalidOptions, "'autocommit' field requires a transaction number to also be specified")
	case g.StartTxn != BoolAbsent:
		return mongoerr.New(mongoerr.InvalidOptions, "'startTransaction' field requires a transaction number to also be specified")
	}
	return nil
}

func checkTransactionFields(g *Generic) error {
	switch {
	case !g.HasSession:
		return mongoerr.New(mongoerr.InvalidOptions, "Transaction number requires a session ID to also be specified")
	case g.TxnNumber < 0:
		return mongoerr.New(mongoerr.InvalidOptions, "Transaction number cannot be negative")
	case g.Autocommit == BoolTrue:
		return mongoerr.New(mongoerr.InvalidOptions, "Specifying autocommit=true is not allowed.")
	case g.StartTxn == BoolFalse:
		return mongoerr.New(mongoerr.InvalidOptions, "Specifying startTransaction=false is not allowed.")
	case g.StartTxn == BoolTrue && g.Autocommit == BoolAbsent:
		return mongoerr.New(mongoerr.InvalidOptions, "'startTransaction' field requires 'autocommit' field to also be specified")
	}
	return nil
}

// checkInTransaction refuses commands and namespaces that transactions do not have.
func (r *Request) checkInTransaction(d *Definition) error {
	switch {
	case d.Name == "count":
		return NotInTransaction("Cannot run 'count' in a multi-document transaction. Please see " +
			"http://dochub.mongodb.org/core/transaction-count for a recommended alternative.")
	case !d.InTransaction:
		return NotInTransaction("Cannot run '%s' in a multi-document transaction.", r.Name)
	}
	if err := r.checkTransactionNamespace(d); err != nil || r.Generic.StartTxn != BoolTrue {
		return err
	}
	switch d.Name {
	case "killCursors":
		return NotInTransaction("Cannot run killCursors as the first operation in a multi-document transaction.")
	case "commitTransaction", "coordinateCommitTransaction":
		return NotInTransaction("Cannot start a transaction with a commit")
	case "abortTransaction":
		return NotInTransaction("Cannot start a transaction with an abort")
	}
	return nil
}

// NotInTransaction is the error of what cannot be done in a transaction.
func NotInTransaction(format string, args ...any) error {
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, format, args...)
}

func (r *Request) checkTransactionNamespace(d *Definition) error {
	if d.AdminOnly || r.continuesBulkWrite(d) {
		return nil // the database is not what they work on
	}
	if err := CheckTransactionDatabase(r.DB); err != nil {
		return err
	}
	if v := r.Value; v.Type == bsonx.TypeString {
		switch v.Str() {
		case "system.profile", "system.views":
			return NotInTransaction("Cannot run command against the '%s.%s' collection in a transaction.", r.DB, v.Str())
		}
	}
	return nil
}

// continuesBulkWrite reports whether a command is about the cursor with the results of a bulkWrite.
func (r *Request) continuesBulkWrite(d *Definition) bool {
	switch {
	case r.DB != "admin":
		return false
	case d.Name == "getMore":
		return r.String("collection") == BulkWriteCursor
	case d.Name == "killCursors":
		return r.Value.Type == bsonx.TypeString && r.Value.Str() == BulkWriteCursor
	default:
		return false
	}
}

// CheckTransactionDatabase refuses the databases that a transaction may not use.
func CheckTransactionDatabase(db string) error {
	switch db {
	case "config":
		return NotInTransaction("Cannot run command against the config database in a transaction.")
	case "admin", "local":
		return NotInTransaction("Cannot run command against the '%s' database in a transaction.", db)
	}
	return nil
}

// checkTransactionConcerns lets the first command have a read concern, and the last one a write concern.
func checkTransactionConcerns(d *Definition, g *Generic) error {
	if g.WriteConcern.Given && !endsTransaction(d) {
		return mongoerr.New(mongoerr.InvalidOptions, "writeConcern is not allowed within a multi-statement transaction")
	}
	rc := &g.ReadConcern
	if !rc.Given {
		return nil
	}
	if g.StartTxn != BoolTrue {
		return mongoerr.New(mongoerr.InvalidOptions, "Only the first command in a transaction may specify a readConcern")
	}
	switch rc.Level {
	case "", LevelLocal, LevelMajority, levelSnapshot:
		return nil
	}
	return mongoerr.New(mongoerr.InvalidOptions,
		"The readConcern level must be either 'local' (default), 'majority' or 'snapshot' in order to run in a transaction")
}

// stagesNotInTransaction are those that transactions do not have.
var stagesNotInTransaction = map[string]bool{
	"$changeStream": true, "$collStats": true, "$currentOp": true, "$indexStats": true, "$listLocalSessions": true,
	"$listSampledQueries": true, "$listSearchIndexes": true, "$listSessions": true, "$merge": true, "$out": true,
	"$planCacheStats": true, "$querySettings": true, "$queryStats": true, "$shardedDataDistribution": true,
}

// CheckTransactionStages refuses stages, also in sub-pipelines, that transactions do not have.
func CheckTransactionStages(stages bsonx.Value) error {
	return eachStage(stages, func(stage bsonx.Elem) error {
		if stagesNotInTransaction[string(stage.Key)] {
			return NotInTransaction("Stage not supported inside of a multi-document transaction: %s", stage.Key)
		}
		return nil
	})
}

const (
	labelTransient = "TransientTransactionError"
	LabelRetryable = "RetryableWriteError"

	labelResumable    = "ResumableChangeStreamError"
	labelNotResumable = "NonResumableChangeStreamError"
)

// WithLabels adds the labels by which drivers know what to try again: the whole transaction, or the command alone. An error
// that has labels, be they none, keeps them.
func WithLabels(req *Request, err error) error {
	if e := new(mongoerr.Error); errors.As(err, &e) {
		switch {
		case e.Code == mongoerr.ChangeStreamFatalError, e.Code == mongoerr.ChangeStreamHistoryLost:
			return e.WithLabel(labelNotResumable)
		case req.Reply.Changes && isResumable(e.Code):
			return e.WithLabel(labelResumable)
		}
	}
	// A command that a fail point has failed is not parsed.
	if req.Body.Lookup("txnNumber").IsMissing() || req.Def == nil || req.Def.NoAuth {
		return err
	}
	var e *mongoerr.Error
	if !errors.As(err, &e) {
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
		e = errWriteConflict
	}
	if e.Labels != nil {
		return err
	}
	inTransaction := !req.Body.Lookup("autocommit").IsMissing()
	ending := endsTransaction(req.Def)
	switch {
	case inTransaction && isTransient(e.Code, ending):
		return e.WithLabel(labelTransient)
	case req.MayRetry() && IsRetriable(e.Code):
		return e.WithLabel(LabelRetryable)
	}
	return err
}

// MayRetry reports whether the command can be sent again as it is: a retryable write, or the end of a transaction. The request may
// not have been parsed.
func (r *Request) MayRetry() bool {
	if r.Def == nil || r.Body.Lookup("txnNumber").IsMissing() {
		return false
	}
	return endsTransaction(r.Def) || r.Def.Retryable && r.Body.Lookup("autocommit").IsMissing()
}

// isResumable reports whether a change stream that failed with a code may be resumed.
func isResumable(code mongoerr.Code) bool {
	switch code {
	case mongoerr.RetryChangeStream, mongoerr.FailedToSatisfyReadPreference, mongoerr.StaleEpoch, codeStaleShardVersion, codeStaleDBVersion,
		codeStaleConfig:
		return true
	default:
		return IsRetriable(code)
	}
}

const (
	codeStaleShardVersion = mongoerr.Code(63)
	codeStaleDBVersion    = mongoerr.Code(249)
	codeStaleConfig       = mongoerr.Code(13388)
)

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
