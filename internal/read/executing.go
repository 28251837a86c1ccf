package read

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// The errors of running plans say so, as in MongoDB; those of parsing and planning do not.

// Executing returns an error of a command that reads: kind is "find command: " and the like, which
// the namespace follows.
func Executing(kind, db, coll string, err error) error {
	if err == nil {
		return nil
	}
	return executingIn("Executor error during ", kind+db+"."+coll, err)
}

// ExecutingWrite returns an error of a statement that finds and changes documents.
func ExecutingWrite(kind string, err error) error {
	if err == nil {
		return nil // without the memory of what follows: it is so for nearly all
	}
	return executingIn("Plan executor error during ", kind, err)
}

func executingIn(prefix, kind string, err error) error {
	var refused *query.Refused
	if errors.As(err, &refused) {
		return err
	}
	return mongoerr.Within(prefix+kind, err)
}

// What follows "Executor error during ".
const (
	DuringFind      = "find command: "
	DuringAggregate = "aggregate command on namespace: "
	DuringCount     = "count command on namespace: "
	DuringDistinct  = "distinct command on namespace: "
)
