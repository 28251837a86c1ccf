package update

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Matcher is a compiled predicate. *filter.Filter implements it.
type Matcher interface {
	Match(doc bsonx.Doc) (bool, error)
}

// Transformer is a compiled pipeline that turns one document into one document. The result may borrow
// from doc.
type Transformer interface {
	Apply(doc bsonx.Doc) (bsonx.Doc, error)
}

// Options say how Parse reads an update. The zero value is an update without array filters and pipelines.
type Options struct {
	// ArrayFilters are the command's arrayFilters.
	ArrayFilters []bsonx.Doc
	// ParseFilter compiles the conditions of arrayFilters and $pull. The command passes a closure that
	// knows its variables and collation.
	ParseFilter func(doc bsonx.Doc) (Matcher, error)
	// ParsePipeline compiles an update that is an array of stages.
	ParsePipeline func(stages bsonx.Value) (Transformer, error)
	// Compare orders values by the operation's collation; nil means bsonx.CompareValues.
	Compare func(a, b bsonx.Value) int
}

// Env is what one application of an update depends on beside the document.
type Env struct {
	// Now is the time of the operation, for $currentDate.
	Now time.Time
	// Timestamp returns the next cluster time, for $currentDate with timestamps and for replacements
	// with Timestamp(0, 0). Without it both take the time from Now.
	Timestamp func() (t, i uint32)
	// NewID returns an _id for an upserted document that has none; nil means a new ObjectId.
	NewID func() bsonx.Value
	// MatchedIndex is the array element that the query matched, for the positional $; it counts only
	// with HasMatchedIndex.
	MatchedIndex    int
	HasMatchedIndex bool
	// Insert says that the document is being upserted: $setOnInsert applies. UpsertDoc sets it.
	Insert bool
}

// Kind says of which of the three forms an update is.
type Kind int

// The forms of an update.
const (
	KindOperators Kind = iota
	KindReplacement
	KindPipeline
)
