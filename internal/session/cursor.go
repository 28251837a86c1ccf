package session

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Source is what a cursor reads from.
type Source interface {
	// Next returns the next document, borrowed until the following call, or nil at the end.
	Next(ctx context.Context) (bsonx.Doc, error)
	// Save lets go of snapshots and iterators and keeps the position; it is called between batches.
	Save()
	// Restore makes the source usable again after Save. It fails where the collection or the index
	// is gone.
	Restore(ctx context.Context) error
	Close()
}

// Owner is who may use a cursor: the session and the user that opened it.
type Owner struct {
	Session SessionID
	User    string
	// InTransaction says that the cursor reads from the transaction TxnNumber of the session.
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
	// NoTimeout keeps an idle cursor beyond the idle timeout; the end of its session still closes
	// it.
	NoTimeout bool
	Tailable  bool
	AwaitData bool
	// Command is the command that opened the cursor, in bytes that the cursor owns.
	Command bsonx.Doc
	// Compiled is how many bytes what was compiled for the cursor takes beside the command: the
	// values of expressions of constants, and bounds of scans.
	Compiled int64
	// Running, where set, is told which operation reads the cursor.
	Running interface{ Set(ctx context.Context) }
	// Plan is shown by currentOp, nil for none.
	Plan PlanSummary
	// API is what the command that opened the cursor said of the stable API.
	API API
	// ReadConcern is the level of the command that opened the cursor.
	ReadConcern string
	// AtClusterTime is the time of the snapshot that all batches are read from, 0 for none.
	AtClusterTime storage.Stamp

	// Returned and Batches count what was sent.
	Returned int64
	Batches  int64

	id      int64
	bytes   int64 // what the registry has counted
	kept    int64 // what the source keeps between two batches
	stash   bsonx.Doc
	saved   bool
	created time.Time

	// Guarded by the registry's lock.
	lastUse  time.Time
	pinned   bool
	pinnedOp *Op
	again    bool // a getMore has read it
	killed   *mongoerr.Error
}

// ID returns the cursor's number, 0 before Register.
func (c *Cursor) ID() int64 { return c.id }

// Namespace returns "db.collection".
func (c *Cursor) Namespace() string { return c.DB + "." + c.Collection }

// Next returns the next document: one that was put back, or the source's next.
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

// PutBack keeps a copy of a document that did not fit into a batch for the following one.
func (c *Cursor) PutBack(doc bsonx.Doc) { c.stash = doc.Clone() }

// Stashed reports whether a document was put back.
func (c *Cursor) Stashed() bool { return c.stash != nil }

// Save is called when a batch has ended. Next makes the source usable again.
func (c *Cursor) Save() {
	if !c.saved {
		c.saved = true
		c.Source.Save()
		c.kept = memory.KeptBy(c.Source)
	}
}
