package dispatch

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/wire"
)

// replyWriter builds a reply directly in the outgoing buffer.
type replyWriter struct {
	b *bsonx.Builder
	// start and body are the offsets of the message and of its document in the buffer.
	start, body int
}

func beginReply(b *bsonx.Builder, conn *command.Conn, msg *wire.Message, out []byte) replyWriter {
	w := replyWriter{b: b}
	if msg.Legacy {
		out, w.start = wire.BeginReply(out, conn.RequestID(), msg.RequestID)
	} else {
		out, w.start = wire.BeginMsg(out, conn.RequestID(), msg.RequestID, msg.Flags&wire.FlagChecksumPresent)
	}
	w.body = len(out)
	b.Reset(out)
	b.StartDoc()
	return w
}

// replyRoom is an upper bound in bytes for the fields that the dispatcher adds to a reply: ok,
// times and a write concern error.
const replyRoom = 64 << 10

// run runs a command and returns an error if its reply is too large to be sent.
func run(ctx context.Context, e *command.Entry, req *command.Request, reply *bsonx.Builder) error {
	if e.Refuse != nil {
		return e.Refuse(req)
	}
	if err := e.Run(ctx, req, reply); err != nil {
		return err
	}
	return checkSize(e, req, reply.Len()-req.Reply.Start)
}

// checkSize returns an error if a reply of size bytes is larger than a document that clients
// accept. Two kinds of reply may be as large as a message. A batch may have one document of the
// full size and the fields around it. The reply to a write must reach the client, because the write
// has already happened.
func checkSize(e *command.Entry, req *command.Request, size int) error {
	most := limits.InternalDocumentBytes
	if e.Writes == feature.Yes || req.Reply.Batch {
		most = limits.MessageBytes - replyRoom
	}
	if size <= most {
		return nil
	}
	return mongoerr.New(mongoerr.BSONObjectTooLarge, "BSONObj size: %d (0x%X) is invalid. Size must be between 0 and %d(%dMB)",
		size, size, most, most>>20)
}

// finishReply completes the reply. If err is not nil, it replaces the reply by an error reply.
func finishReply(s *command.Service, w replyWriter, req *command.Request, msg *wire.Message, err error,
	fp failpoint.Failure,
) Result {
	b := w.b
	if err != nil {
		logInternal(s, req, err)
		b.Reset(b.Bytes()[:w.body])
		b.StartDoc()
		appendError(s, b, err)
		appendWriteConcernError(req, b)
	} else {
		for b.Depth() > 1 {
			b.End()
		}
		if req.Def.Silent && req.Generic.WriteConcern.Unacknowledged() {
			b.Reset(b.Bytes()[:w.body])
			b.StartDoc()
		}
		appendWriteConcernErrors(req, b, fp)
		b.Double("ok", 1)
	}
	if s.Replicates() {
		s.AppendTimes(b, req.Op)
	}
	b.End()
	out := b.Bytes()
	lost := fp.CloseConn || req.Reply.Lost
	res := Result{Close: req.Reply.CloseConn || lost, Retained: req.Retained}
	switch {
	case lost:
		res.Out = out[:w.start]
		return res
	case msg.Legacy:
		out = wire.FinishReply(out, w.start)
	case msg.Flags&wire.FlagMoreToCome != 0 && req.Reply.Next == nil:
		res.Out = out[:w.start] // the client wants no reply
		return res
	default:
		if err == nil && req.Reply.Next != nil {
			wire.SetMoreToCome(out, w.start)
			res.Next = req.Reply.Next
		}
		out = wire.FinishMsg(out, w.start)
	}
	res.Out = out
	if msg.Compressor != wire.CompressorNone {
		res.Out = compressReply(out, w.start, msg.Compressor)
		s.Stats.CountCompression(msg.Compressor, len(out)-w.start, len(res.Out)-w.start)
	}
	return res
}

// compressReply replaces the message that begins at start by its compressed form. If the
// compression fails, it keeps the message.
func compressReply(out []byte, start int, id wire.Compressor) []byte {
	compressed, err := wire.Compress(nil, out[start:], id)
	if err != nil {
		return out
	}
	return append(out[:start], compressed...)
}

// appendError appends the fields of an error reply. All errors of commands become replies here.
func appendError(s *command.Service, b *bsonx.Builder, err error) {
	e := command.UserError(err)
	b.Double("ok", 0)
	b.String("errmsg", e.Message)
	b.Int32("code", int32(e.Code))
	b.String("codeName", e.Code.Name())
	b.Fields(command.DetailsOf(e))
	if len(e.Labels) > 0 {
		appendLabels(b, e.Labels)
	}
}

// appendRemoved is appendError for the reply to a removed read operation, in which clients expect
// $err.
func appendRemoved(b *bsonx.Builder, err error) {
	e := command.UserError(err)
	b.String("$err", e.Message)
	b.Int32("code", int32(e.Code))
	b.Double("ok", 0)
}

// logInternal logs an error that is a fault of the server and not of the client, so that operators
// see it too.
func logInternal(s *command.Service, req *command.Request, err error) {
	var e *mongoerr.Error
	if !errors.As(err, &e) && !errors.Is(err, storage.ErrLongKeys) {
		s.Logger.Error("Command failed with an internal error", "ctx", command.ConnName(req.Conn.ID),
			"command", req.Name, "error", err)
	}
}

func appendLabels(b *bsonx.Builder, labels []string) {
	b.StartArrayField("errorLabels")
	for _, l := range labels {
		b.Elem(bsonx.String(l))
	}
	b.End()
}

func appendWriteConcernError(r *command.Request, b *bsonx.Builder) {
	e := r.Reply.WriteConcernError
	if e == nil {
		return
	}
	b.StartDocField("writeConcernError")
	b.Int32("code", int32(e.Code))
	b.String("codeName", e.Code.Name())
	b.String("errmsg", e.Message)
	b.Fields(bsonx.Doc(e.Info))
	b.End()
}

// ErrorReply appends the reply to a message that could not be parsed, and returns the extended
// buffer.
func ErrorReply(s *command.Service, conn *command.Conn, msg *wire.Message, out []byte, err error) []byte {
	var b bsonx.Builder
	w := beginReply(&b, conn, msg, out)
	removed := msg.Legacy && mongoerr.CodeOf(err) == wire.CodeRemoved
	if removed {
		appendRemoved(&b, err)
	} else {
		appendError(s, &b, err)
	}
	b.End()
	if removed {
		wire.FailReply(b.Bytes(), w.start)
	}
	if msg.Legacy {
		return wire.FinishReply(b.Bytes(), w.start)
	}
	return wire.FinishMsg(b.Bytes(), w.start)
}

// appendWriteConcernErrors appends the write concern error of the command or of a fail point, with
// its error labels.
func appendWriteConcernErrors(r *command.Request, b *bsonx.Builder, f failpoint.Failure) {
	var code mongoerr.Code
	switch e := r.Reply.WriteConcernError; {
	case f.WCError != nil:
		b.Doc("writeConcernError", f.WCError)
		n, _ := f.WCError.Lookup("code").AsInt64()
		code = mongoerr.Code(n)
	case e != nil:
		appendWriteConcernError(r, b)
		code = e.Code
	default:
		return
	}
	switch {
	case f.Labels != nil:
		appendLabels(b, f.Labels)
	case mayRetry(r) && command.IsRetriable(code):
		appendLabels(b, []string{labelRetryable})
	}
}
