package ddl

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// commitQuorumTypes are the types that createIndexes accepts for commitQuorum.
var commitQuorumTypes = command.OneOf(bsonx.TypeDecimal128, bsonx.TypeInt32, bsonx.TypeDouble,
	bsonx.TypeString, bsonx.TypeInt64)

// checkQuorum returns an error if a commitQuorum is neither a valid number of members nor a
// non-empty string.
func checkQuorum(_ string, v bsonx.Value) error {
	switch {
	case v.Type == bsonx.TypeString && v.Str() == "":
		return mongoerr.New(mongoerr.FailedToParse, "commitQuorum can't be an empty string")
	case v.Type == bsonx.TypeString:
		return nil
	}
	if n := bsonx.SaturatingInt64(v); n < 0 || n > limits.Members {
		return mongoerr.New(mongoerr.FailedToParse, "commitQuorum has to be a non-negative number and not greater than %d", limits.Members)
	}
	return nil
}

// checkCommitQuorum returns an error if a set of one member cannot satisfy the commitQuorum, or if
// the server is standalone and the request has a commitQuorum.
func checkCommitQuorum(r *command.Request) error {
	v := r.Get("commitQuorum")
	switch {
	case v.IsMissing():
		return nil
	case !r.Service.Replicates():
		return mongoerr.New(mongoerr.BadValue, "Standalones can't specify commitQuorum")
	case v.Type != bsonx.TypeString && bsonx.SaturatingInt64(v) > 1:
		return mongoerr.New(mongoerr.UnsatisfiableCommitQuorum, "Not enough data-bearing nodes")
	case v.Type == bsonx.TypeString && v.Str() != command.ModeMajority && v.Str() != "votingMembers":
		return mongoerr.New(mongoerr.UnknownReplWriteConcern, "No write concern mode named '%s' found in replica set configuration", v.Str())
	}
	return nil
}
