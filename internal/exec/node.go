package exec

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/table"
)

// Node is one operator of a running plan. It is used by one goroutine at a time.
type Node interface {
	// Next returns the next row, or nil at the end. ErrPaused means that the works budget is used
	// up and that Next can be called again.
	Next(ctx context.Context) (*Row, error)
	// Save lets go of the reader and of everything borrowed from it, and keeps the position.
	Save()
	// Close releases all resources of the node and its inputs.
	Close()
	// Stats returns the node's counters; they grow until Close and stay readable after it.
	Stats() *Stats
	// Inputs returns the nodes that this node pulls from.
	Inputs() []Node
}

// Row is what one node gives to the next. All of it is borrowed until the giver's following Next,
// Save or Close.
type Row struct {
	// RecordKey is the storage key of the record.
	RecordKey []byte
	// Doc is the document; nil where it was not read.
	Doc bsonx.Doc
	// Index is the index that the row comes from; nil for other rows and for the _id index.
	Index *table.Index
	// Key is the entry's key without the index prefix, Bits its type bits; both are nil for rows
	// that do not come from an index.
	Key  []byte
	Bits []byte
	// Held says that the tree was saved since the row's entry was read: the record may have left
	// the query.
	Held bool
	// IndexKey is the index key as a document, where a sort has kept it for $meta; Key is nil then.
	IndexKey bsonx.Doc
	// SortKey is the keystring that a SORT ordered the row by.
	SortKey []byte
	// Score is what a text search gave the row, where Scored is true.
	Score  float64
	Scored bool
	// Located is true for a row of a search by distance, which Distance and Place then tell: how
	// far, and which value of the document is there.
	Located  bool
	Distance float64
	Place    bsonx.Value
}

// copyFrom makes r an owned copy of src in r's own buffers.
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

// appendOrNil copies src behind dst and keeps nil apart from empty.
func appendOrNil(dst, src []byte) []byte {
	if src == nil {
		return nil
	}
	return append(dst, src...)
}

// size estimates the memory that a copy of the row takes.
func (r *Row) size() int {
	return len(r.RecordKey) + len(r.Doc) + len(r.Key) + len(r.Bits) + len(r.SortKey)
}

// Stats are a node's counters, named as explain prints them. Fields that a kind of node does not
// count stay zero.
type Stats struct {
	Works    uint64
	Advanced uint64
	IsEOF    bool
	// Failed says that Next returned an error. Only a node that is Timed notes it.
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

	// Elapsed is the time in Next, that of the inputs included, of a node that is Timed.
	Elapsed time.Duration
}

// Kept returns about how many bytes of rows the nodes of a tree keep after Save, without those that
// are counted in the server's budget.
func Kept(root Node) (n int64) {
	if k, ok := Bare(root).(interface{ kept() int64 }); ok {
		n = k.kept()
	}
	for _, in := range root.Inputs() {
		n += Kept(in)
	}
	return n
}

// Examined returns how many index keys and documents the nodes of a tree looked at so far.
func Examined(root Node) (keys, docs uint64) {
	s := root.Stats()
	keys, docs = s.KeysExamined, s.DocsExamined
	for _, in := range root.Inputs() {
		k, d := Examined(in)
		keys, docs = keys+k, docs+d
	}
	return keys, docs
}

// base is what every node embeds.
type base struct {
	env    *Env
	inputs []Node
	stats  Stats
}

// Stats implements Node.
func (b *base) Stats() *Stats { return &b.stats }

// Inputs implements Node.
func (b *base) Inputs() []Node { return b.inputs }

// Save implements Node for nodes that hold nothing themselves.
func (b *base) Save() {
	b.stats.SaveStates++
	for _, in := range b.inputs {
		in.Save()
	}
}

// Close implements Node for nodes that hold nothing themselves.
func (b *base) Close() {
	for _, in := range b.inputs {
		in.Close()
	}
}

// emit counts a row that goes up.
func (b *base) emit(r *Row) (*Row, error) {
	b.stats.Advanced++
	return r, nil
}

// end counts the end.
func (b *base) end() (*Row, error) {
	b.stats.IsEOF = true
	return nil, nil
}
