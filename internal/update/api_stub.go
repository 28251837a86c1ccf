package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Update is a compiled update.
type Update struct{ kind Kind }

// Parse compiles an update: an operator or replacement document, or a pipeline (array).
func Parse(u bsonx.Value, opts Options) (*Update, error) {
	return nil, mongoerr.New(mongoerr.NotImplemented, "update")
}

// Kind returns the form of the update.
func (u *Update) Kind() Kind { return u.kind }

// NeedsMatchedIndex reports whether the update uses the positional $, so that Env needs the index of the
// array element that the query matched.
func (u *Update) NeedsMatchedIndex() bool { return false }

// Apply returns the document after the update and whether it differs. The result is a fresh document, or
// doc itself where nothing changes.
func (u *Update) Apply(doc bsonx.Doc, env Env) (bsonx.Doc, bool, error) { return doc, false, nil }

// TouchedPaths returns the paths that the update can change, without positional parts ("a.$[].b" is
// "a.b"); all is true where it can change any path (replacements and pipelines).
func (u *Update) TouchedPaths() (paths []string, all bool) { return nil, true }

// Affects reports whether the update can change what an index or filter on that path sees.
func (u *Update) Affects(path string) bool { return true }

// UpsertDoc returns the document that an upsert inserts: the equalities of the query, changed by the
// update, with _id first.
func UpsertDoc(query bsonx.Doc, u *Update, env Env) (bsonx.Doc, error) { return nil, nil }

// PrepareInsert returns doc as it is stored by an insert: with _id first (made by newID where it is
// absent), zero timestamps replaced (timestamp may be nil), and checked. It returns doc itself where nothing changes.
func PrepareInsert(doc bsonx.Doc, newID func() bsonx.Value, timestamp func() (t, i uint32)) (bsonx.Doc, error) {
	return doc, nil
}

// FixTimestamps replaces the Timestamp(0, 0) values of top-level fields other than _id.
func FixTimestamps(doc bsonx.Doc, timestamp func() (t, i uint32)) bsonx.Doc { return doc }

// OperatorInfo describes an update operator, for documentation and tests.
type OperatorInfo struct{ Name, Family, Status, Note string }

// Operators lists all update operators.
func Operators() []OperatorInfo { return nil }
