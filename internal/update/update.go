package update

import (
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Matcher is a compiled predicate. *filter.Filter implements it.
type Matcher interface {
	Match(doc bsonx.Doc) (bool, error)
}

// Transformer is a compiled pipeline that turns one document into one document. The result may
// borrow from doc.
type Transformer interface {
	Apply(doc bsonx.Doc) (bsonx.Doc, error)
}

// Compiler compiles the filters and pipelines in an update. The command passes a Compiler that
// knows its variables and collation. Only Parse uses it.
type Compiler interface {
	// CompileFilter compiles a condition of arrayFilters or $pull.
	CompileFilter(doc bsonx.Doc) (Matcher, error)
	// CompilePipeline compiles an update that is an array of stages.
	CompilePipeline(stages bsonx.Value) (Transformer, error)
}

// Options contains the inputs of Parse in addition to the update. The zero value suffices for an
// update without array filters and pipelines.
type Options struct {
	// ArrayFilters contains the arrayFilters of the command.
	ArrayFilters []bsonx.Doc
	// Compiler compiles filters and pipelines. It may be nil if the update contains neither.
	Compiler Compiler
	// Compare orders values with the operation's collation. Nil means bsonx.CompareValues.
	Compare func(a, b bsonx.Value) int
	// Running signals interrupts of the operation. Parse fails after an interrupt. It may be nil.
	Running *interrupt.Running
}

// Env is the input of one application of an update, in addition to the document.
type Env struct {
	// Now is the time of the operation, for $currentDate.
	Now time.Time
	// Timestamp returns the next cluster time, for $currentDate with timestamps and for
	// replacements with Timestamp(0, 0). If it is nil, both use the time of Now.
	Timestamp func() (t, i uint32)
	// KeepTimestamps keeps Timestamp(0, 0) in replacements.
	KeepTimestamps bool
	// NewID returns an _id for an upserted document without _id. Nil means a new ObjectId.
	NewID func() bsonx.Value
	// MatchedIndex is the index of the array element that the query matched, for the positional $.
	// It is not set unless HasMatchedIndex is true.
	MatchedIndex    int
	HasMatchedIndex bool
	// Insert reports that the document is being upserted, so $setOnInsert applies. UpsertDoc sets
	// it.
	Insert bool
	// Buffer is memory into which Apply may write the result of an operator document. It may be
	// nil.
	Buffer []byte
	// Running signals interrupts of the operation. Apply fails after an interrupt. It may be nil.
	Running *interrupt.Running
	// Record receives the individual changes of an operator document while they are made. They are
	// invalid if Apply returns an error. Record may be nil.
	Record func(Modification)
}

// Kind is one of the three forms of an update.
type Kind int

// The forms of an update.
const (
	KindOperators Kind = iota
	KindReplacement
	KindPipeline
)

// Update is a compiled update. It is immutable and safe for concurrent use.
type Update struct {
	kind        Kind
	root        *objectNode // the trie, for KindOperators
	positional  bool
	collated    bool        // values are compared with a collation
	paths       []string    // the paths below which the operators can change values
	replacement bsonx.Doc   // the new document, for KindReplacement
	transform   Transformer // the pipeline, for KindPipeline
}

// appliers is a pool of appliers, because most updates are applied only once.
var appliers = sync.Pool{New: func() any { return new(applier) }}

// Kind returns the form of the update. A replacement may be applied to one document only, and the
// other forms to many.
func (u *Update) Kind() Kind { return u.kind }

// NeedsMatchedIndex reports whether the update uses the positional $, so that Env needs the index
// of the array element that the query matched.
func (u *Update) NeedsMatchedIndex() bool { return u.positional }

// Affects reports whether the update can change the keys of an index on the path.
func (u *Update) Affects(path string) bool {
	if u.kind != KindOperators {
		return true
	}
	path = indexed(path)
	for _, p := range u.paths {
		if related(p, path) {
			return true
		}
	}
	return false
}

// Apply returns the updated document, and whether the update modified it. Without a modification it
// returns doc itself.
func (u *Update) Apply(doc bsonx.Doc, env Env) (bsonx.Doc, bool, error) {
	if u.kind == KindOperators {
		return u.applyOperators(doc, env)
	}
	out, changed, err := u.apply(doc, env)
	if err != nil || !changed {
		return doc, false, err
	}
	return checkSize(doc, out)
}

// checkSize returns out as the result of an update. It fails if out is too large.
func checkSize(doc, out bsonx.Doc) (bsonx.Doc, bool, error) {
	if len(out) > limits.DocumentBytes {
		return doc, false, mongoerr.New(updateTooLarge,
			"Resulting document after update is larger than %d", limits.DocumentBytes)
	}
	return out, true, nil
}

func (u *Update) apply(doc bsonx.Doc, env Env) (bsonx.Doc, bool, error) {
	switch u.kind {
	case KindReplacement:
		made := u.replacement
		if !env.KeepTimestamps {
			made = fixTimestamps(made, env.timestamp)
		}
		out, err := replace(doc, made, env.Insert, env.Insert)
		return out, err == nil && replaces(doc, made, out), err
	case KindPipeline:
		made, err := u.transform.Apply(doc)
		if err != nil {
			return nil, false, err
		}
		out, err := replace(doc, made, true, env.Insert)
		return out, err == nil && replaces(doc, made, out), err
	default:
		return u.applyOperators(doc, env)
	}
}

// replaces reports whether a replacement counts as a modification. As in MongoDB, a new document
// without the old _id counts as a modification even if all other fields are the same, unless both
// documents are otherwise empty.
func replaces(old, made, out bsonx.Doc) bool {
	return !made.Equal(old) && !(made.IsEmpty() && out.Equal(old))
}

func (u *Update) applyOperators(doc bsonx.Doc, env Env) (bsonx.Doc, bool, error) {
	a := appliers.Get().(*applier)
	a.env, a.doc, a.hasID = env, doc, !env.Insert || !doc.Lookup("_id").IsMissing()
	out, err := doc, a.run(u.root)
	if err == nil && u.collated {
		// The result of a comparison is not valid if an interrupt stopped the comparison.
		err = env.Running.Err()
	}
	changed := err == nil && len(a.edits) > 0
	if changed {
		out, err = a.finish()
	}
	a.release()
	appliers.Put(a)
	if err != nil {
		return doc, false, err
	}
	if !changed || env.Insert {
		return out, changed, nil
	}
	return checkSize(doc, out)
}

// timestamp returns the next cluster time or, without the function Timestamp, a timestamp of Now.
func (e *Env) timestamp() (t, i uint32) {
	if e.Timestamp != nil {
		return e.Timestamp()
	}
	return uint32(e.Now.Unix()), 1
}
