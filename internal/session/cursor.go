package session

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Source is the source of a cursor's documents.
type Source interface {
	// Next returns the next document, borrowed until the following call, or nil at the end.
	Next(ctx context.Context) (bsonx.Doc, error)
	// Save releases snapshots and iterators, and keeps the position. It is called between batches.
	Save()
	// Restore makes the source usable again after Save. It fails if the collection or the index was
	// dropped.
	Restore(ctx context.Context) error
	Close()
}

// Owner is the session and the user that opened a cursor. Only they may use it.
type Owner struct {
	Session SessionID
	User    string
	// InTransaction means that the cursor reads in the transaction TxnNumber of the session.
	InTransaction bool
	TxnNumber     int64
}

// Cursor is a query result that is fetched in batches. Between Pin (or New) and Unpin one goroutine
// owns it.
type Cursor struct {
	// The fields of this block are set before Register and do not change.
	Source     Source
	DB         string
	Collection string
	Owner      Owner
	// NoTimeout keeps an idle cursor beyond the idle timeout. The end of its session still closes
	// it.
	NoTimeout bool
	Tailable  bool
	AwaitData bool
	// Command is a copy of the command that opened the cursor.
	Command bsonx.Doc
	// Compiled is the memory of compiled parts beyond the command: values of constant expressions,
	// and bounds of scans.
	Compiled int64
	// Running, if not nil, is told which operation reads the cursor.
	Running interface{ Set(ctx context.Context) }
	// Plan is shown by currentOp. It may be nil.
	Plan PlanSummary
	// API has the stable API parameters of the command that opened the cursor.
	API API
	// ReadConcern is the level of the command that opened the cursor.
	ReadConcern string
	// AtClusterTime is the time of the snapshot from which all batches are read, or 0.
	AtClusterTime storage.Stamp

	// Returned and Batches count the documents and batches sent.
	Returned int64
	Batches  int64

	id      int64
	bytes   int64 // bytes counted by the registry
	kept    int64 // bytes that the source keeps between two batches
	stash   bsonx.Doc
	saved   bool
	created time.Time

	// The registry's lock guards these fields.
	lastUse  time.Time
	pinned   bool
	pinnedOp *Op
	again    bool // a getMore has read the cursor
	killed   *mongoerr.Error
}

// ID returns the cursor's number. It is 0 before Register.
func (c *Cursor) ID() int64 { return c.id }

// Namespace returns "db.collection".
func (c *Cursor) Namespace() string { return c.DB + "." + c.Collection }

// Next returns the next document: the document that was put back, or the source's next document.
func (c *Cursor) Next(ctx context.Context) (bsonx.Doc, error) {
	if c.stash != nil {
		doc := c.stash
		c.stash = nil
		return doc, nil
	}
	if c.saved {
		c.saved = false
		if c.Running != nil {
			c.Running.Set(ctx)
		}
		if err := c.Source.Restore(ctx); err != nil {
			return nil, err
		}
	}
	return c.Source.Next(ctx)
}

// PutBack keeps a copy of a document that did not fit into a batch, for the next batch.
func (c *Cursor) PutBack(doc bsonx.Doc) { c.stash = doc.Clone() }

// Stashed reports whether a document was put back.
func (c *Cursor) Stashed() bool { return c.stash != nil }

// Save is called at the end of a batch. Next makes the source usable again.
func (c *Cursor) Save() {
	if !c.saved {
		c.saved = true
		c.Source.Save()
		c.kept = memory.KeptBy(c.Source)
	}
}
