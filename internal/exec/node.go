package exec

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/table"
)

// Node is one operator of a running plan. Only one goroutine at a time may use it.
type Node interface {
	// Next returns the next row, or nil at the end. The error ErrPaused means that the works budget
	// is used up and that Next can be called again. After any other error only Close may be called.
	Next(ctx context.Context) (*Row, error)
	// Save releases the reader and everything borrowed from it, and keeps the position. The next
	// call of Next continues from there, with the Env's current reader.
	Save()
	// Close releases all resources of the node and its inputs.
	Close()
	// Stats returns the node's counters. They grow until Close, and remain readable after it.
	Stats() *Stats
	// Inputs returns the nodes that this node pulls from.
	Inputs() []Node
	// IsEOF reports whether the node is already known to have no further row, without calling Next.
	// A scan knows that only after it has read past its last record. A limit knows it as soon as it
	// is used up.
	IsEOF() bool
}

// Row is the unit that one node passes to the next. All of it is borrowed until the next call of
// Next, Save or Close of the node that returned it.
type Row struct {
	// RecordKey is the storage key of the record.
	RecordKey []byte
	// Doc is the document, or nil if it was not read.
	Doc bsonx.Doc
	// Index is the index that the row comes from. It is nil for the _id index, and for rows that do
	// not come from an index.
	Index *table.Index
	// Key is the key of the index entry without the index prefix, and Bits are its type bits. Both
	// are nil for rows that do not come from an index.
	Key  []byte
	Bits []byte
	// Held says that the tree was saved after the row's index entry was read, so the record may no
	// longer match the query.
	Held bool
	// IndexKey is the index key as a document, if a sort has kept it for {$meta: "indexKey"}. Key
	// is nil then.
	IndexKey bsonx.Doc
	// SortKey is the keystring by which a SORT ordered the row.
	SortKey []byte
	// Score is the text score of the row. It is valid if Scored is true.
	Score  float64
	Scored bool
	// Located is true for a row of a search by distance. Then Distance is the distance, and Place
	// is the geometry of the document that is at that distance.
	Located  bool
	Distance float64
	Place    bsonx.Value
}

// copyFrom copies src to r. The copy owns its memory, in r's buffers.
func (r *Row) copyFrom(src *Row) {
	r.RecordKey = append(r.RecordKey[:0], src.RecordKey...)
	r.Index = src.Index
	r.Doc = appendOrNil(r.Doc[:0], src.Doc)
	r.Key = appendOrNil(r.Key[:0], src.Key)
	r.Bits = appendOrNil(r.Bits[:0], src.Bits)
	r.IndexKey = appendOrNil(r.IndexKey[:0], src.IndexKey)
	r.SortKey = appendOrNil(r.SortKey[:0], src.SortKey)
	r.Score, r.Scored = src.Score, src.Scored
	r.Located, r.Distance, r.Place = src.Located, src.Distance, src.Place.Clone()
}

// appendOrNil appends src to dst. It returns nil if src is nil, and a slice that is not nil if src
// is empty.
func appendOrNil(dst, src []byte) []byte {
	if src == nil {
		return nil
	}
	return append(dst, src...)
}

// size estimates the memory of a copy of the row, in bytes.
func (r *Row) size() int {
	return len(r.RecordKey) + len(r.Doc) + len(r.Key) + len(r.Bits) + len(r.SortKey)
}

// Stats are the counters of a node, with the names that explain prints. Counters that do not apply
// to a kind of node stay 0.
type Stats struct {
	Works    uint64
	Advanced uint64
	IsEOF    bool
	// Failed says that Next has returned an error. Only a node wrapped by Timed records it.
	Failed        bool
	SaveStates    uint64
	RestoreStates uint64

	KeysExamined uint64
	DocsExamined uint64
	DocsRejected uint64
	AlreadyDoc   uint64
	Seeks        uint64
	DupsTested   uint64
	DupsDropped  uint64

	Counted uint64
	Skipped uint64

	SortedBytes    uint64
	Spills         uint64
	SpilledRecords uint64
	SpilledBytes   uint64

	// Elapsed is the time spent in Next, including the inputs. Only a node wrapped by Timed records
	// it.
	Elapsed time.Duration
}

// Kept estimates how many bytes of rows a tree keeps after Save. It leaves out rows that already
// count in the server's memory budget.
func Kept(root Node) (n int64) {
	if k, ok := Bare(root).(interface{ kept() int64 }); ok {
		n = k.kept()
	}
	for _, in := range root.Inputs() {
		n += Kept(in)
	}
	return n
}

// Examined returns the number of index keys and of documents that the nodes of a tree have read so
// far.
func Examined(root Node) (keys, docs uint64) {
	s := root.Stats()
	keys, docs = s.KeysExamined, s.DocsExamined
	for _, in := range root.Inputs() {
		k, d := Examined(in)
		keys, docs = keys+k, docs+d
	}
	return keys, docs
}

// base implements the methods of Node that most nodes have in common. Every node embeds it.
type base struct {
	env    *Env
	inputs []Node
	stats  Stats
}

// Stats implements Node.
func (b *base) Stats() *Stats { return &b.stats }

// Inputs implements Node.
func (b *base) Inputs() []Node { return b.inputs }

// Save implements Node. It is enough for nodes that hold no position or memory of their own.
func (b *base) Save() {
	b.stats.SaveStates++
	for _, in := range b.inputs {
		in.Save()
	}
}

// Close implements Node. It is enough for nodes that hold no resources of their own.
func (b *base) Close() {
	for _, in := range b.inputs {
		in.Close()
	}
}

// emit counts a row and returns it.
func (b *base) emit(r *Row) (*Row, error) {
	b.stats.Advanced++
	return r, nil
}

// end records that the node has reached its end, and returns a nil row.
func (b *base) end() (*Row, error) {
	b.stats.IsEOF = true
	return nil, nil
}
