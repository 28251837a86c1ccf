package read

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Ender is a source that may know that it has ended before Next has returned nil.
type Ender interface {
	// IsDone reports whether the source is known to have no further document.
	IsDone(ctx context.Context) bool
}

// Resumable is a source of a change stream, which a client can resume with another cursor.
type Resumable interface {
	// token returns the resume token of the batch. stashed says that the last document was not
	// sent.
	token(stashed bool) bsonx.Doc
}

// limited is a source that knows an upper bound of its remaining documents.
type limited interface {
	// remaining returns the bound. It is negative if the bound is not known.
	remaining() int64
}

// batchFrame estimates the size in bytes of the rest of a reply after the documents: the cursor's
// id, its namespace and the times.
const batchFrame = 512

// maxElemFrame is an upper bound, in bytes, of the size of an array element without its value: the
// type and the index as the key.
const maxElemFrame = 16

// Command is the command that a batch belongs to.
type Command interface {
	// Operation returns the running operation.
	Operation() *session.Op
	// ReadTime returns the stamp of the snapshot that the command reads, or 0 if it does not read a
	// snapshot.
	ReadTime() storage.Stamp
	// StartBatch is called before the first document is written. It returns the output for the
	// documents.
	StartBatch() *Output
	// KeepCursor registers a cursor for the next batches and returns its id.
	KeepCursor(c *session.Cursor) (int64, error)
}

// Output is the destination of a connection's replies.
type Output struct {
	// Held is the server memory that the current reply holds.
	Held memory.Holding
	// Room, if not nil, returns a buffer of at least size bytes that begins with reply. The old
	// buffer must not be used after the call.
	Room func(reply []byte, size int) []byte
	// Limit is the largest total size of the documents in one batch, in bytes.
	Limit int
}

// Batch writes documents of a cursor into a reply.
type Batch struct {
	Req    Command
	Cursor *session.Cursor
	// Field is firstBatch or nextBatch.
	Field string
	// Size is the largest number of documents in the batch; a negative number means no limit.
	Size int64
	// During names the command in which an error of the source happens, such as DuringFind; see
	// Executing. It is empty for sources without a plan, whose errors are returned unchanged.
	During string
	// Single says that the cursor is closed after this batch.
	Single bool
	// Source, if not nil, may know that the cursor has no further document.
	Source Ender
	// EndsUnread says that a batch of size 0 may also close the cursor if the source is known to
	// have ended. The plan of a find allows that; a pipeline does not.
	EndsUnread bool
	// StaysOpen reports whether a tailable cursor stays open at its end. It is nil for other
	// cursors.
	StaysOpen func() (bool, error)
	// Await, if not nil, is called when a batch would be empty. It waits and reports whether there
	// may be documents now.
	Await func(context.Context) (bool, error)

	out *Output
}

// First writes the first batch. It registers the cursor if further documents may follow, and closes
// it otherwise.
func (b *Batch) First(ctx context.Context, reply *bsonx.Builder) error {
	b.Cursor.AtClusterTime = b.Req.ReadTime()
	reply.StartDocField("cursor")
	end, err := b.Fill(ctx, reply)
	if err == nil && b.StaysOpen != nil && !b.Cursor.Stashed() {
		end, err = b.ends()
	}
	if err != nil || end || b.Single || b.Finished(ctx) {
		b.Cursor.Source.Close()
		if err != nil {
			return err
		}
		b.Close(reply, 0)
		return nil
	}
	id, err := b.Req.KeepCursor(b.Cursor)
	if err != nil {
		return err
	}
	b.Close(reply, id)
	return nil
}

// Finished reports whether the cursor is known to have no further document, neither in its source
// nor in the cursor itself, which keeps a document that did not fit into this batch.
func (b *Batch) Finished(ctx context.Context) bool {
	return (b.Size != 0 || b.EndsUnread) && !b.Cursor.Stashed() && b.Source != nil && b.Source.IsDone(ctx)
}

// Fill appends the array of documents. It reports whether the cursor has ended.
func (b *Batch) Fill(ctx context.Context, reply *bsonx.Builder) (end bool, err error) {
	b.out = b.Req.StartBatch()
	reply.StartArrayField(b.Field)
	start := reply.Len()
	n := int64(0)
	for ; b.Size < 0 || n < b.Size; n++ {
		doc, err := b.next(ctx, n == 0)
		if err != nil {
			return false, err
		}
		if doc == nil {
			end = true
			break
		}
		if n > 0 && reply.Len()-start+b.adds(doc) > b.out.Limit {
			b.Cursor.PutBack(doc)
			break
		}
		if n == 0 {
			b.expect(reply, len(doc)+maxElemFrame)
		}
		ok, err := b.makeRoom(reply, len(doc)+maxElemFrame, n == 0 || b.Single)
		if err != nil {
			return false, err
		}
		if !ok {
			b.Cursor.PutBack(doc) // a batch may always be shorter than requested
			break
		}
		reply.Elem(bsonx.Document(doc))
	}
	reply.End()
	b.Cursor.Returned += n
	b.Cursor.Batches++
	debug := &b.Req.Operation().Debug
	debug.NReturned, debug.CursorExhausted = n, end
	return end, nil
}

// adds returns the number of bytes that a document adds to the reply. The resume token of the last
// event of a change stream appears twice.
func (b *Batch) adds(doc bsonx.Doc) int {
	if _, ok := b.Source.(Resumable); ok {
		return len(doc) + len(doc.Lookup("_id").Data)
	}
	return len(doc)
}

// makeRoom makes room in the reply for n more bytes. If must is true, it fails when the server's
// memory budget is exhausted. Otherwise the batch may end here: makeRoom then takes at most half of
// the free memory, because readers also need memory for blocks of the store, and returns false if
// that is not enough.
func (b *Batch) makeRoom(reply *bsonx.Builder, n int, must bool) (bool, error) {
	have, need := cap(reply.Bytes()), reply.Len()+n
	if need <= have {
		return true, nil
	}
	size, held := max(need, 2*have), &b.out.Held
	switch {
	case must:
		if err := held.Hold(int64(size)); err != nil {
			return false, err
		}
	case !held.Spare(int64(size)):
		return false, nil
	}
	b.move(reply, size)
	return true, nil
}

// move copies the reply into a buffer of size bytes, in which it can grow.
func (b *Batch) move(reply *bsonx.Builder, size int) {
	if room := b.out.Room; room != nil {
		reply.Move(room(reply.Bytes(), size))
		return
	}
	reply.Grow(size - reply.Len())
}

// maxExpected limits the room that expect makes, in bytes. It also limits the number of documents:
// expect does nothing if more may follow.
const maxExpected = 1 << 20

// expect makes room for the whole batch, up to maxExpected bytes, if its number of documents is
// known. Otherwise the growing reply would be copied several times. size is the size of the first
// document as an array element. If there is not enough memory, expect does nothing, and the reply
// grows on demand.
func (b *Batch) expect(reply *bsonx.Builder, size int) {
	src, ok := b.Source.(limited)
	if !ok {
		return
	}
	left := src.remaining()
	if b.Size >= 0 {
		left = min(left, b.Size-1)
	}
	if left <= 0 || left > maxExpected {
		return
	}
	expected := reply.Len() + min(size*int(left+1), maxExpected) + batchFrame
	if expected > cap(reply.Bytes()) && b.out.Held.Spare(int64(expected)) {
		b.move(reply, expected)
	}
}

// ends reports whether a tailable cursor ends with its first batch.
func (b *Batch) ends() (bool, error) {
	open, err := b.StaysOpen()
	return !open, err
}

// next returns the next document. For the first document of a batch it may wait; see Await.
func (b *Batch) next(ctx context.Context, first bool) (bsonx.Doc, error) {
	for {
		doc, err := b.Cursor.Next(ctx)
		if err != nil {
			return nil, b.failed(err)
		}
		if doc != nil || !first || b.Await == nil {
			return doc, nil
		}
		if again, err := b.Await(ctx); err != nil || !again {
			return nil, err
		}
	}
}

// failed adds the command to an error of the cursor's source.
func (b *Batch) failed(err error) error {
	switch {
	case b.During == "":
		return err
	case b.Field == "nextBatch":
		return executingIn("Executor error during ", "getMore", err)
	default:
		return Executing(b.During, b.Cursor.DB, b.Cursor.Collection, err)
	}
}

// Close ends the cursor document in the reply. id is 0 if no batch follows.
func (b *Batch) Close(reply *bsonx.Builder, id int64) {
	if src, ok := b.Source.(Resumable); ok {
		reply.Doc("postBatchResumeToken", src.token(b.Cursor.Stashed()))
	}
	reply.Int64("id", id)
	reply.String("ns", b.Cursor.Namespace())
	if at := b.Cursor.AtClusterTime; at != 0 {
		reply.Value("atClusterTime", oplog.Timestamp(at))
	}
	reply.End()
	b.Req.Operation().Debug.CursorID = id
}
