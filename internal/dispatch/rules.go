package dispatch

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/storage"
)

// checkAPI checks the arguments of the stable API, whose only version is "1".
func checkAPI(d *command.Definition, g *command.Generic) error {
	if g.APIVersion == "" {
		if g.APIStrict != command.BoolAbsent || g.APIDeprecation != command.BoolAbsent {
			return mongoerr.New(command.CodeAPIWithoutVersion,
				"Provided apiStrict and/or apiDeprecationErrors without passing apiVersion")
		}
		return nil
	}
	if g.APIVersion != "1" {
		return mongoerr.New(mongoerr.APIVersionError, "Cannot accept API version %s", g.APIVersion)
	}
	if g.APIStrict == command.BoolTrue && d.StableAPI != feature.Yes {
		return mongoerr.New(mongoerr.APIStrictError,
			"Provided apiStrict:true, but the command %s is not in API Version 1. Information on supported commands and "+
				"migrations in API Version 1 can be found at https://dochub.mongodb.org/core/manual-versioned-api.", d.Name)
	}
	return nil
}

// checkReadConcern returns an error if the command, or a standalone server, does not support the
// read concern.
func checkReadConcern(s *command.Service, d *command.Definition, g *command.Generic) error {
	rc := &g.ReadConcern
	if !rc.Given {
		return nil
	}
	if err := rc.Check(); err != nil {
		return err
	}
	if reason := command.UnsupportedLevel(d, rc.Level); reason != "" && g.StartTxn == command.BoolAbsent {
		return command.ReadConcernUnsupported(d.Name, rc.Level, reason)
	}
	switch {
	case s.Replicates():
		return checkTimes(s, rc)
	case rc.Level == command.LevelSnapshot:
		return mongoerr.New(mongoerr.NotAReplicaSet, "node needs to be a replica set member to use readConcern: snapshot")
	case rc.Level == command.LevelLinearizable:
		return mongoerr.New(mongoerr.NotAReplicaSet, "node needs to be a replica set member to use read concern")
	case rc.AfterClusterTime != 0:
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot specify afterClusterTime readConcern without replication enabled")
	default:
		return nil
	}
}

// checkTimes returns an error if a read concern has a time that is later than every stamp of this
// server and its clients.
func checkTimes(s *command.Service, rc *command.ReadConcern) error {
	asked := max(rc.AfterClusterTime, rc.AtClusterTime)
	if asked <= s.Order.Visible() {
		return nil
	}
	if now := s.Order.Last(); asked > now {
		name := "afterClusterTime"
		if rc.AtClusterTime != 0 {
			name = "atClusterTime"
		}
		return mongoerr.New(mongoerr.InvalidOptions, "readConcern %s value must not be greater than the current clusterTime. "+
			"Requested clusterTime: { ts: %s }; current clusterTime: { ts: %s }", name, asked, now)
	}
	return nil
}

// checkWriteConcern returns an error if the command, or a standalone server, does not support the
// write concern.
func checkWriteConcern(s *command.Service, d *command.Definition, wc *command.WriteConcern) error {
	switch {
	case !wc.Given:
		return nil
	case d.Writes != feature.Yes:
		return mongoerr.New(mongoerr.InvalidOptions, "Command does not support writeConcern")
	case s.Replicates():
		return nil
	case wc.W > 1:
		return mongoerr.New(mongoerr.BadValue, "cannot use 'w' > 1 when a host is not replicated")
	case wc.Named() && !wc.Majority:
		return mongoerr.New(mongoerr.BadValue,
			"cannot use non-majority 'w' mode \"%s\" when a host is not a member of a replica set", wc.Mode)
	}
	return nil
}

// syncWrites syncs the commits of a command that have not waited for a sync, if there are any.
func syncWrites(r *command.Request) error {
	if !r.Deferred {
		return nil
	}
	return r.Service.Store.Engine().Sync()
}

// checkGeneric checks the generic arguments together: stable API, read concern and write concern.
func checkGeneric(s *command.Service, d *command.Definition, g *command.Generic) error {
	if err := checkAPI(d, g); err != nil {
		return err
	}
	if g.ReadConcern.Given {
		if err := checkReadConcern(s, d, g); err != nil {
			return err
		}
	}
	return checkWriteConcern(s, d, &g.WriteConcern)
}

// readsSnapshot reports whether the request needs a new snapshot. A transaction or a cursor already
// has a snapshot. Drivers send the level "snapshot" with getMore too.
func readsSnapshot(r *command.Request) bool {
	return r.Generic.ReadConcern.Level == command.LevelSnapshot && !r.Generic.InTransaction() &&
		!r.Def.OnCursors && r.Service.Store != nil
}

// holdSnapshot sets the snapshot that a request with the read concern level "snapshot" reads. The
// caller must release it with Snapshots.Done.
func holdSnapshot(s *command.Service, req *command.Request) (err error) {
	req.Snapshot, err = s.Read.Snapshots.Hold(req.Op, s.Store,
		req.Generic.ReadConcern.AtClusterTime, req.Session, req.Now)
	return err
}

// clientName returns the application name of the client. The first hello of a connection contains
// it.
func clientName(r *command.Request) string {
	if r.Conn.ClientApp == "" && r.Def.Handshake {
		if name := r.Body.LookupPath("client", "application", "name"); name.Type == bsonx.TypeString {
			return name.Str()
		}
	}
	return r.Conn.ClientApp
}

// mayWrite reports whether a parsed command may write. A command that reads writes only with $out,
// $merge or an output collection.
func mayWrite(r *command.Request) bool {
	switch {
	case r.Def.Writes != feature.Yes:
		return false
	case !r.Def.Read:
		return true
	case r.Has("out"):
		return r.Doc("out").Lookup("inline").IsMissing()
	}
	return pipeline.LastWrites(r.Get("pipeline"))
}

// checkTransaction checks the session and transaction arguments by the rules of mongod.
func checkTransaction(r *command.Request, d *command.Definition) error {
	g := &r.Generic
	if d.NoAuth {
		g.HasTxnNumber, g.Autocommit, g.StartTxn = false, command.BoolAbsent, command.BoolAbsent
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
		return mongoerr.New(mongoerr.NotARetryableWriteCommand,
			"txnNumber may only be provided for multi-document transactions and retryable write "+
				"commands. autocommit:false was not provided, and %s is not a retryable write command.", r.Name)
	}
	if err := checkInTransaction(r, d); err != nil {
		return err
	}
	return checkTransactionConcerns(d, g)
}

func checkNoTransaction(g *command.Generic) error {
	switch {
	case g.Autocommit != command.BoolAbsent:
		return mongoerr.New(mongoerr.InvalidOptions, "'autocommit' field requires a transaction number to also be specified")
	case g.StartTxn != command.BoolAbsent:
		return mongoerr.New(mongoerr.InvalidOptions, "'startTransaction' field requires a transaction number to also be specified")
	}
	return nil
}

func checkTransactionFields(g *command.Generic) error {
	switch {
	case !g.HasSession:
		return mongoerr.New(mongoerr.InvalidOptions, "Transaction number requires a session ID to also be specified")
	case g.TxnNumber < 0:
		return mongoerr.New(mongoerr.InvalidOptions, "Transaction number cannot be negative")
	case g.Autocommit == command.BoolTrue:
		return mongoerr.New(mongoerr.InvalidOptions, "Specifying autocommit=true is not allowed.")
	case g.StartTxn == command.BoolFalse:
		return mongoerr.New(mongoerr.InvalidOptions, "Specifying startTransaction=false is not allowed.")
	case g.StartTxn == command.BoolTrue && g.Autocommit == command.BoolAbsent:
		return mongoerr.New(mongoerr.InvalidOptions, "'startTransaction' field requires 'autocommit' field to also be specified")
	}
	return nil
}

// checkInTransaction returns an error if transactions do not support the command or its namespace.
func checkInTransaction(r *command.Request, d *command.Definition) error {
	rules := &d.InTransaction
	switch {
	case d.Transactions != feature.Yes && rules.Refused != "":
		return command.NotInTransaction("%s", rules.Refused)
	case d.Transactions != feature.Yes:
		return command.NotInTransaction("Cannot run '%s' in a multi-document transaction.", r.Name)
	}
	if err := checkTransactionNamespace(r, d); err != nil {
		return err
	}
	if r.Generic.StartTxn == command.BoolTrue && rules.NotFirst != "" {
		return command.NotInTransaction("%s", rules.NotFirst)
	}
	return nil
}

func checkTransactionNamespace(r *command.Request, d *command.Definition) error {
	if d.AdminOnly == feature.Yes || continuesBulkWrite(r, d) {
		return nil // these commands do not use the database that the client sends
	}
	if err := command.CheckTransactionDatabase(r.DB); err != nil {
		return err
	}
	if v := r.Value; v.Type == bsonx.TypeString {
		switch v.Str() {
		case "system.profile", "system.views":
			return command.NotInTransaction("Cannot run command against the '%s.%s' collection in a transaction.", r.DB, v.Str())
		}
	}
	return nil
}

// continuesBulkWrite reports whether a command uses or closes the cursor with the results of a
// bulkWrite.
func continuesBulkWrite(r *command.Request, d *command.Definition) bool {
	if r.DB != "admin" || !d.OnCursors {
		return false
	}
	_, collection := r.Target()
	return string(collection) == command.BulkWriteCursor
}

// checkTransactionConcerns returns an error for a read concern on a later command than the first,
// and for a write concern on a command that does not end the transaction.
func checkTransactionConcerns(d *command.Definition, g *command.Generic) error {
	if g.WriteConcern.Given && !d.InTransaction.Ends {
		return mongoerr.New(mongoerr.InvalidOptions, "writeConcern is not allowed within a multi-statement transaction")
	}
	rc := &g.ReadConcern
	if !rc.Given {
		return nil
	}
	if g.StartTxn != command.BoolTrue {
		return mongoerr.New(mongoerr.InvalidOptions, "Only the first command in a transaction may specify a readConcern")
	}
	switch rc.Level {
	case "", command.LevelLocal, command.LevelMajority, command.LevelSnapshot:
		return nil
	}
	return mongoerr.New(mongoerr.InvalidOptions,
		"The readConcern level must be either 'local' (default), 'majority' or 'snapshot' in order to run in a transaction")
}

// withLabels adds the error label that tells drivers what to retry: the transaction, the command,
// or the change stream. Except for change streams, it does not change an error that already has a
// list of labels, even an empty one.
func withLabels(req *command.Request, err error) error {
	if e := new(mongoerr.Error); errors.As(err, &e) {
		switch {
		case e.Code == mongoerr.ChangeStreamFatalError, e.Code == mongoerr.ChangeStreamHistoryLost:
			return e.WithLabel(labelNotResumable)
		case req.Reply.Changes && isResumable(e.Code):
			return e.WithLabel(labelResumable)
		}
	}
	// A command that a fail point has ended was not parsed, so this reads the body.
	if req.Body.Lookup("txnNumber").IsMissing() || req.Def == nil || req.Def.NoAuth {
		return err
	}
	var e *mongoerr.Error
	if !errors.As(err, &e) {
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
		e = command.ErrWriteConflict
	}
	if e.Labels != nil {
		return err
	}
	inTransaction := !req.Body.Lookup("autocommit").IsMissing()
	ending := req.Def.InTransaction.Ends
	switch {
	case inTransaction && command.IsTransient(e.Code, ending):
		return e.WithLabel(labelTransient)
	case mayRetry(req) && command.IsRetriable(e.Code):
		return e.WithLabel(labelRetryable)
	}
	return err
}

// mayRetry reports whether a driver may send the command again: it is a retryable write, or it ends
// a transaction. It works on requests that are not parsed.
func mayRetry(r *command.Request) bool {
	if r.Def == nil || r.Body.Lookup("txnNumber").IsMissing() {
		return false
	}
	return r.Def.InTransaction.Ends || r.Def.Retryable && r.Body.Lookup("autocommit").IsMissing()
}

// isResumable reports whether a driver may resume a change stream after an error with this code.
func isResumable(code mongoerr.Code) bool {
	switch code {
	case mongoerr.RetryChangeStream, mongoerr.FailedToSatisfyReadPreference, mongoerr.StaleEpoch,
		codeStaleShardVersion, mongoerr.StaleDbVersion, mongoerr.StaleConfig:
		return true
	default:
		return command.IsRetriable(code)
	}
}

const (
	labelTransient = "TransientTransactionError"
	labelRetryable = "RetryableWriteError"

	labelResumable    = "ResumableChangeStreamError"
	labelNotResumable = "NonResumableChangeStreamError"
)

// codeStaleShardVersion is an obsolete error code, for which MongoDB has no name any more.
const codeStaleShardVersion = mongoerr.Code(63)
