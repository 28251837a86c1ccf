// Package catalog keeps what databases, collections, views and indexes there are: durable, versioned, and cached so
// that reads are atomic loads.
//
// It stores specifications as MongoDB's users wrote them; what compiles them (filters, key patterns) lives above it.
package catalog

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Kind tells collections, views and time series apart.
type Kind string

// The kinds, named as listCollections does.
const (
	KindCollection Kind = "collection"
	KindView       Kind = "view"
)

// Collection is a catalog entry. It is immutable: a change makes a new one.
type Collection struct {
	ID   uint32 // storage identifier, never used again
	DB   string
	Name string
	UUID [16]byte
	Kind Kind
	// Options is what listCollections shows under options: validator, capped, viewOn, pipeline, ….
	Options bsonx.Doc
	// Indexes does not hold the implicit _id index.
	Indexes []*Index
	// Version grows with every change of the entry.
	Version uint64
}

// Namespace returns "db.collection".
func (c *Collection) Namespace() string { return c.DB + "." + c.Name }

// Index is an index's catalog entry. It is immutable.
type Index struct {
	ID   uint32 // storage identifier, never used again
	Name string
	// Spec is the whole specification as listIndexes shows it.
	Spec   bsonx.Doc
	Key    bsonx.Doc
	Unique bool
	Sparse bool
	Hidden bool
	// PartialFilter is nil for an index over all documents.
	PartialFilter bsonx.Doc
	// Ready is false while the index is being built: writes maintain it, reads must not use it.
	Ready bool
	// Multikey holds, per field of Key, a bit set of the path components that were arrays; see index.MultikeyPaths.
	Multikey []uint64
}
