package crud

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// errReplaced means that, after a statement was compiled, its collection was replaced by a time
// series, or by a collection with another default collation. The statement has changed nothing and
// must be compiled again.
var errReplaced = errors.New("the collection was replaced after the statement was compiled")

// compiledFor describes the collections on which a compiled statement may run. The collection may
// be replaced, for example by a rename, between compilation and execution.
type compiledFor struct {
	// coll is the collection whose default collation the statement was compiled with. It may be
	// nil.
	coll *table.Collection
	// any is true if the statement has its own collation and may run on every collection.
	any bool
}

// meantFor returns a compiledFor for a statement that was compiled for c, which may be nil. own is
// the statement's collation argument.
func meantFor(c *table.Collection, own bsonx.Value) compiledFor {
	return compiledFor{coll: c, any: own.Type == bsonx.TypeDocument && !own.Doc().IsEmpty()}
}

// fits reports whether the statement may run on c: it has its own collation, or it was compiled
// with the default collation of c. The buckets of a time series have the collation of their view.
func (f compiledFor) fits(c *table.Collection) bool {
	was := f.coll
	switch {
	case f.any, was == c:
		return true
	case was == nil:
		return c.Collation == nil
	case c.Timeseries != nil:
		return was.Kind == catalog.KindTimeseries || was.Timeseries != nil
	}
	return was.Collation.Same(c.Collation)
}

// runSpec calls try, which compiles and runs the statement at a position of its command, and calls
// try again if the collection is replaced meanwhile. If an earlier attempt of the command has
// executed the statement, runSpec returns the result that retried makes of its record.
func runSpec[R any](r *command.Request, position int, multi bool,
	retried func(rec *retryable.Record) (R, error), try func() (R, error),
) (res R, err error) {
	if rec := executed(r, position); rec != nil {
		return retried(rec)
	}
	if err := checkRetryOfMany(r, multi); err != nil {
		return res, err
	}
	err = table.RetryOn(errReplaced, func() (err error) {
		res, err = try()
		return err
	})
	return res, err
}

// compiled is a compiled statement that writes to db.name.
type compiled struct {
	req      *command.Request
	db, name string
	// kind is the name of the statement in error messages: update or delete.
	kind  string
	query *write.Query
	meant compiledFor
	// upsert is true if the statement creates the collection.
	upsert bool
}

// runCompiled runs a compiled statement with run, and returns its result. It tries again if the
// collection is dropped meanwhile, and returns errReplaced if the collection no longer fits the
// statement. Without a collection, it checks the statement and returns the zero result.
func runCompiled[R any](s compiled, run func(c *table.Collection) (R, error)) (res R, err error) {
	err = table.RetryOn(table.ErrDropped, func() error {
		var none R
		res = none
		c, err := command.WriteTarget(s.req, s.db, s.name)
		if err != nil {
			return err
		}
		if c == nil {
			if !s.upsert {
				return checkWithout(s.db, s.name, s.query.Filter, s.query.Hint)
			}
			if c, err = command.EnsureTarget(s.req, s.db, s.name); err != nil {
				return err
			}
		}
		if !s.meant.fits(c) {
			return errReplaced
		}
		s.query.Coll = c
		res, err = run(c)
		return read.ExecutingWrite(writeKind(s.req, s.kind), err)
	})
	return res, err
}
