package read

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// As in MongoDB, errors of running plans name the command. Errors of parsing and planning do not.

// Executing adds a read command to an error. kind is one of the constants below, such as
// DuringFind, and the namespace follows it. A nil err stays nil.
func Executing(kind, db, coll string, err error) error {
	if err == nil {
		return nil
	}
	return executingIn("Executor error during ", kind+db+"."+coll, err)
}

// ExecutingWrite adds the kind of a write statement to an error. A nil err stays nil.
func ExecutingWrite(kind string, err error) error {
	if err == nil {
		return nil // returns early for nearly all statements, to save the concatenation
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

// The text after "Executor error during ", for each kind of command.
const (
	DuringFind      = "find command: "
	DuringAggregate = "aggregate command on namespace: "
	DuringCount     = "count command on namespace: "
	DuringDistinct  = "distinct command on namespace: "
)
