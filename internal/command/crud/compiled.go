package crud

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/table"
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
