package read

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Ender is a source that may know its end before it is asked for a document that is not there.
type Ender interface {
	// IsDone reports whether it is known, without another look, that there is no further document.
	IsDone(ctx context.Context) bool
}

// Resumable is a source, of a change stream, that a client may go on from in another cursor.
type Resumable interface {
	// token returns from where; stashed says that the last document was not sent.
	token(stashed bool) bsonx.Doc
}

// limited is a source that knows how many documents are left at most.
type limited interface {
	// remaining is negative where that is not known.
	remaining() int64
}

// batchFrame is about what follows a batch in its reply: the cursor's id, its namespace and the
// times.
const batchFrame = 512

// maxElemFrame is more than an element of an array takes beside its value: a type, a number as the
// key.
const maxElemFrame = 16

// Command is the command that a batch belongs to.
type Command interface {
	// Operation returns the running operation.
	Operation() *session.Op
	// ReadTime returns the time of the snapshot that the command reads, 0 if it reads none.
	ReadTime() storage.Stamp
	// StartBatch is called before the first document is written. It returns where documents go.
	StartBatch() *Output
	// KeepCursor registers a cursor for the batches that follow, and returns its id.
	KeepCursor(c *session.Cursor) (int64, error)
}

// Output is where the replies of a connection are built.
type Output struct {
	// Held is what the reply that is being built or sent holds of the server's memory.
	Held memory.Holding
	// Room, if not nil, returns a buffer of at least size bytes that begins with reply. The old
	// buffer must not be used after the call.
	Room func(reply []byte, size int) []byte
	// Limit bounds the documents of one batch, in bytes.
	Limit int
}

// Batch writes documents of a cursor into a reply.
type Batch struct {
	Req    Command
	Cursor *session.Cursor
	// Field is firstBatch or nextBatch.
	Field string
	// Size is the maximum number of documents in the batch; a negative number is no limit.
	Size int64
	// During is what an error says that it happened in; see executing. It is empty for what is no
	// plan.
	During string
	// Single says that the cursor is closed after this batch.
	Single bool
	// Source, where not nil, knows whether the cursor has no further document.
	Source Ender
	// EndsUnread says that the source may end the cursor before a document was asked for, as a
	// find's plan does and no pipeline.
	EndsUnread bool
	// StaysOpen reports whether a tailable cursor stays open at its end; nil for other cursors.
	StaysOpen func() (bool, error)
	// Await, if not nil, is called when a batch would be empty. It reports whether there may be
	// documents now.
	Await func(context.Context) (bool, error)

	out *Output
}

// First writes the first batch and registers the cursor if there is more to come.
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

// Finished reports whether the cursor is known to have no further document: neither its source nor
// itself, which keeps the document that was too large for this batch.
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
			b.Cursor.PutBack(doc) // a batch may always be shorter
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

// adds returns by how much a document makes the reply longer: with the last event of a change
// stream its token is repeated.
func (b *Batch) adds(doc bsonx.Doc) int {
	if _, ok := b.Source.(Resumable); ok {
		return len(doc) + len(doc.Lookup("_id").Data)
	}
	return len(doc)
}

// makeRoom makes room in the reply for n more bytes. It fails where the server's memory has none. A
// batch that may end here takes half of the memory at most, and false says that it does: who reads
// documents holds blocks of the store, too.
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

// move puts the reply into a buffer of size bytes.
func (b *Batch) move(reply *bsonx.Builder, size int) {
	if room := b.out.Room; room != nil {
		reply.Move(room(reply.Bytes(), size))
		return
	}
	reply.Grow(size - reply.Len())
}

// maxExpected bounds the room that is made for documents that are not there yet.
const maxExpected = 1 << 20

// expect makes room for the whole batch where its number of documents is known and its first one
// has size bytes: a reply that grows is copied again and again. Without the memory for it the reply
// grows.
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

// next returns the next document. The first one of a batch it awaits.
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

// failed says in which command an error of the cursor's source happened.
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

// Close ends the batch and its cursor document in the reply. id is 0 if no batch follows.
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
