package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// EncryptionInformation is the argument that drivers with Queryable Encryption add to commands.
var EncryptionInformation = Field{Name: "encryptionInformation", Type: Object, Strict: true, Fields: []Field{
	{Name: "type", Type: SafeInt},
	{Name: "schema", Type: Object, Required: true},
	{Name: "crudProcessed", Type: Bool},
}}

// IsTimeseriesNamespace is the argument with which routers write to the buckets of a time series.
var IsTimeseriesNamespace = Field{Name: "isTimeseriesNamespace", Type: OptionalBool}

// CodeNotBuckets is the code of the error for isTimeseriesNamespace on a namespace that is not a
// bucket collection.
const CodeNotBuckets = mongoerr.Code(5916400)

// maxQuorum is the largest number of members that commitQuorum may require.
const maxQuorum = 50

// CommitQuorumTypes are the types that createIndexes accepts for commitQuorum.
var CommitQuorumTypes = OneOf(bsonx.TypeDecimal128, bsonx.TypeInt32, bsonx.TypeDouble,
	bsonx.TypeString, bsonx.TypeInt64)

// CheckQuorum returns an error if a commitQuorum is neither a valid number of members nor a
// non-empty string.
func CheckQuorum(_ string, v bsonx.Value) error {
	switch {
	case v.Type == bsonx.TypeString && v.Str() == "":
		return mongoerr.New(mongoerr.FailedToParse, "commitQuorum can't be an empty string")
	case v.Type == bsonx.TypeString:
		return nil
	}
	if n := bsonx.SaturatingInt64(v); n < 0 || n > maxQuorum {
		return mongoerr.New(mongoerr.FailedToParse, "commitQuorum has to be a non-negative number and not greater than %d", maxQuorum)
	}
	return nil
}

// CheckCommitQuorum returns an error if a set of one member cannot satisfy the commitQuorum, or if
// the server is standalone and the request has a commitQuorum.
func CheckCommitQuorum(r *Request) error {
	v := r.Get("commitQuorum")
	switch {
	case v.IsMissing():
		return nil
	case !r.Service.Replicates():
		return mongoerr.New(mongoerr.BadValue, "Standalones can't specify commitQuorum")
	case v.Type != bsonx.TypeString && bsonx.SaturatingInt64(v) > 1:
		return mongoerr.New(mongoerr.UnsatisfiableCommitQuorum, "Not enough data-bearing nodes")
	case v.Type == bsonx.TypeString && v.Str() != modeMajority && v.Str() != "votingMembers":
		return mongoerr.New(mongoerr.UnknownReplWriteConcern, "No write concern mode named '%s' found in replica set configuration", v.Str())
	}
	return nil
}
