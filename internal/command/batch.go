package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/session"
)

// maxBatchBytes bounds the documents of one batch, so that the reply stays a document that clients
// accept. A document that is alone in its batch may be larger with what stands around it.
const maxBatchBytes = 16 << 20

// ender is a source that may know its end before it is asked for a document that is not there.
type ender interface {
	done(ctx context.Context) bool
}

// resumable is a source, of a change stream, that a client may go on from in another cursor.
type resumable interface {
	// token returns from where; stashed says that the last document was not sent.
	token(stashed bool) bsonx.Doc
}

// limited is a source that knows how many documents are left at most.
type limited interface {
	// remaining is negative where that is not known.
	remaining() int64
}

// batchFrame is about what follows a batch in its reply: the cursor's id, its namespace and the times.
const batchFrame = 512

// maxElemFrame is more than an element of an array takes beside its value: a type, a number as the key.
const maxElemFrame = 16

// batch writes documents of a cursor into a reply.
type batch struct {
	req    *Request
	cursor *session.Cursor
	// field is firstBatch or nextBatch.
	field string
	// size is how many documents the batch has at most; unlimited where negative.
	size int64
	// during is what an error says that it happened in; see executing. It is empty for what is no plan.
	during string
	// single closes the cursor after this batch.
	single bool
	// source, where not nil, knows whether the cursor has no further document.
	source ender
	// endsUnread says that the source may end the cursor before a document was asked for, as a find's plan does and no pipeline.
	endsUnread bool
	// staysOpen reports whether a tailable cursor stays open at its end; nil for other cursors.
	staysOpen func() (bool, error)
	// await, where not nil, is called when a batch would be empty: it reports whether there may be documents now.
	await func(context.Context) (bool, error)
}

// first writes the first batch and registers the cursor if there is more to come.
func (b *batch) first(ctx context.Context, reply *bsonx.Builder) error {
	if b.req.snapshot != nil {
		b.cursor.AtClusterTime = b.req.snapshot.at
	}
	reply.StartDocField("cursor")
	end, err := b.fill(ctx, reply)
	if err == nil && b.staysOpen != nil && !b.cursor.Stashed() {
		end, err = b.ends()
	}
	if err != nil || end || b.single || b.finished(ctx) {
		b.cursor.Source.Close()
		if err != nil {
			return err
		}
		b.close(reply, 0)
		return nil
	}
	b.req.RetainCursor(b.cursor)
	id, err := b.req.Service.Cursors.Register(b.cursor)
	if err != nil {
		return err
	}
	b.close(reply, id)
	return nil
}

// finished reports whether the cursor is known to have no further document: neither its source nor
// itself, which keeps the document that was too large for this batch.
func (b *batch) finished(ctx context.Context) bool {
	return (b.size != 0 || b.endsUnread) && !b.cursor.Stashed() && b.source != nil && b.source.done(ctx)
}

// fill appends the array of documents. It reports whether the cursor has ended.
func (b *batch) fill(ctx context.Context, reply *bsonx.Builder) (end bool, err error) {
	b.req.reply.batch = true
	reply.StartArrayField(b.field)
	start := reply.Len()
	n := int64(0)
	for ; b.size < 0 || n < b.size; n++ {
		doc, err := b.next(ctx, n == 0)
		if err != nil {
			return false, err
		}
		if doc == nil {
			end = true
			break
		}
		if n > 0 && reply.Len()-start+b.adds(doc) > b.req.Service.batchBytes {
			b.cursor.PutBack(doc)
			break
		}
		if n == 0 {
			b.expect(reply, len(doc)+maxElemFrame)
		}
		ok, err := b.makeRoom(reply, len(doc)+maxElemFrame, n == 0 || b.single)
		if err != nil {
			return false, err
		}
		if !ok {
			b.cursor.PutBack(doc) // a batch may always be shorter
			break
		}
		reply.Elem(bsonx.Document(doc))
	}
	reply.End()
	b.cursor.Returned += n
	b.cursor.Batches++
	b.req.Op.Debug.NReturned = n
	b.req.Op.Debug.CursorExhausted = end
	return end, nil
}

// adds returns by how much a document makes the reply longer: with the last event of a change stream
// its token is repeated.
func (b *batch) adds(doc bsonx.Doc) int {
	if _, ok := b.source.(resumable); ok {
		return len(doc) + len(doc.Lookup("_id").Data)
	}
	return len(doc)
}

// makeRoom makes room in the reply for n more bytes. It fails where the server's memory has none. A batch that may end here
// takes half of the memory at most, and false says that it does: who reads documents holds blocks of the store, too.
func (b *batch) makeRoom(reply *bsonx.Builder, n int, must bool) (bool, error) {
	have, need := cap(reply.Bytes()), reply.Len()+n
	if need <= have {
		return true, nil
	}
	size, held := max(need, 2*have), &b.req.Conn.Reply
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
func (b *batch) move(reply *bsonx.Builder, size int) {
	if room := b.req.Conn.Room; room != nil {
		reply.Move(room(reply.Bytes(), size))
		return
	}
	reply.Grow(size - reply.Len())
}

// maxExpected bounds the room that is made for documents that are not there yet.
const maxExpected = 1 << 20

// expect makes room for the whole batch where its number of documents is known and its first one has size bytes: a reply
// that grows is copied again and again. Without the memory for it the reply grows.
func (b *batch) expect(reply *bsonx.Builder, size int) {
	src, ok := b.source.(limited)
	if !ok {
		return
	}
	left := src.remaining()
	if b.size >= 0 {
		left = min(left, b.size-1)
	}
	if left <= 0 || left > maxExpected {
		return
	}
	expected := reply.Len() + min(size*int(left+1), maxExpected) + batchFrame
	if expected > cap(reply.Bytes()) && b.req.Conn.Reply.Spare(int64(expected)) {
		b.move(reply, expected)
	}
}

// ends reports whether a tailable cursor ends with its first batch.
func (b *batch) ends() (bool, error) {
	open, err := b.staysOpen()
	return !open, err
}

// next returns the next document. The first one of a batch it awaits.
func (b *batch) next(ctx context.Context, first bool) (bsonx.Doc, error) {
	for {
		doc, err := b.cursor.Next(ctx)
		if err != nil {
			return nil, b.failed(err)
		}
		if doc != nil || !first || b.await == nil {
			return doc, nil
		}
		if again, err := b.await(ctx); err != nil || !again {
			return nil, err
		}
	}
}

// failed says in which command an error of the cursor's source happened.
func (b *batch) failed(err error) error {
	switch {
	case b.during == "":
		return err
	case b.field == "nextBatch":
		return executingIn("Executor error during ", "getMore", err)
	default:
		return executing(b.during, b.cursor.DB, b.cursor.Collection, err)
	}
}

func (b *batch) close(reply *bsonx.Builder, id int64) {
	if src, ok := b.source.(resumable); ok {
		reply.Doc("postBatchResumeToken", src.token(b.cursor.Stashed()))
	}
	reply.Int64("id", id)
	reply.String("ns", b.cursor.Namespace())
	if at := b.cursor.AtClusterTime; at != 0 {
		reply.Value("atClusterTime", timestamp(at))
	}
	reply.End()
	b.req.Op.Debug.CursorID = id
}
