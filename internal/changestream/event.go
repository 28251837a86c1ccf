package changestream

import (
	"context"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// operation is one operation of an oplog entry. The entry of a transaction has several operations,
// in the array applyOps.
type operation struct {
	kind        oplog.Kind
	db, coll    string // coll is "$cmd" for commands
	uuid        bsonx.Value
	o, o2       bsonx.Doc
	pre         bsonx.Doc // pre-image; nil if none was stored or it has expired
	stamp       storage.Stamp
	wall        bsonx.Value
	index       int32 // position in the transaction
	lsid        bsonx.Value
	txnNumber   bsonx.Value
	transaction bool
}

// operation parses one operation of an oplog entry. stamp and wall are the stamp and the time of
// the entry.
func (s *Stream) operation(doc bsonx.Doc, stamp storage.Stamp, wall bsonx.Value) operation {
	op := operation{
		kind: oplog.Kind(doc.Lookup("op").Str()), uuid: doc.Lookup("ui"), o: doc.Lookup("o").
			Doc(), stamp: stamp, wall: wall,
	}
	op.db, op.coll, _ = strings.Cut(doc.Lookup("ns").Str(), ".")
	if v := doc.Lookup("o2"); v.Type == bsonx.TypeDocument {
		op.o2 = v.Doc()
	}
	if v := doc.Lookup("preImage"); v.Type == bsonx.TypeDocument &&
		!s.source.ImageExpired(time.UnixMilli(wall.Int64())) {
		op.pre = v.Doc()
	}
	return op
}

// event is an event of a stream, with its resume token.
type event struct {
	doc   bsonx.Doc
	token bsonx.Doc
	// ends is true for an invalidate event: the stream has no events after it.
	ends bool
}

// begin starts the document of an event and appends the fields that all events have.
func (s *Stream) begin(op *operation, name string, token bsonx.Doc) *bsonx.Builder {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Doc("_id", token)
	b.String("operationType", name)
	b.Value("clusterTime", bsonx.Timestamp(op.stamp.Seconds(), op.stamp.Number()))
	if s.spec.Expanded && op.uuid.Type == bsonx.TypeBinary && name != invalidate {
		b.Value("collectionUUID", op.uuid)
	}
	b.Value("wallTime", op.wall)
	if op.transaction {
		b.Value("txnNumber", op.txnNumber)
		b.Value("lsid", op.lsid)
	}
	return b
}

func finish(b *bsonx.Builder, token bsonx.Doc) *event {
	b.End()
	return &event{doc: b.Bytes(), token: token}
}

// token returns the resume token of the event for op. name is the event's operationType, and key is
// its documentKey or nil.
func (op *operation) token(name string, key bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("operationType", name)
	if key != nil {
		b.Doc("documentKey", key)
	}
	b.End()
	return Token{Stamp: op.stamp, kind: eventToken, Index: op.index}.Doc(bsonx.Document(b.Bytes()))
}

func appendNS(b *bsonx.Builder, field, db, coll string) {
	b.StartDocField(field)
	b.String("db", db)
	if coll != "" {
		b.String("coll", coll)
	}
	b.End()
}

// documentEvent returns the event of an insert, update, replacement or deletion of a document. It
// returns nil if the stream does not watch the collection.
func (s *Stream) documentEvent(ctx context.Context, op *operation) (*event, error) {
	if !s.scope.has(op.db, op.coll) {
		return nil, nil
	}
	switch op.kind {
	case oplog.Insert:
		token := op.token("insert", op.o2)
		b := s.begin(op, "insert", token)
		b.Doc("fullDocument", op.o)
		appendNS(b, "ns", op.db, op.coll)
		b.Doc("documentKey", op.o2)
		return finish(b, token), nil
	case oplog.Delete:
		token := op.token("delete", op.o)
		b := s.begin(op, "delete", token)
		appendNS(b, "ns", op.db, op.coll)
		b.Doc("documentKey", op.o)
		if err := s.appendBefore(b, op); err != nil {
			return nil, err
		}
		return finish(b, token), nil
	default:
		return s.updateEvent(ctx, op)
	}
}

// updateEvent returns the event for a new version of a document: an update event if the oplog has a
// diff, otherwise a replace event.
func (s *Stream) updateEvent(ctx context.Context, op *operation) (*event, error) {
	diff := op.o.Lookup("diff")
	replaced := op.o.Lookup("$v").IsMissing() || diff.Type != bsonx.TypeDocument
	name := "update"
	if replaced {
		name = "replace"
	}
	token := op.token(name, op.o2)
	b := s.begin(op, name, token)
	switch {
	case replaced:
		b.Doc("fullDocument", op.o)
	case s.spec.FullDocument != defaultMode:
		v, err := s.after(ctx, op, diff.Doc())
		if err != nil {
			return nil, err
		}
		b.Value("fullDocument", v)
	}
	appendNS(b, "ns", op.db, op.coll)
	b.Doc("documentKey", op.o2)
	if !replaced {
		b.Doc("updateDescription", describe(diff.Doc(), s.spec.Expanded))
	}
	if err := s.appendBefore(b, op); err != nil {
		return nil, err
	}
	return finish(b, token), nil
}

// after returns the fullDocument of an update event, or null if it is not known. With updateLookup
// this is the newest version of the document, otherwise the version right after the update. It
// fails if the stream requires that version and it is not known.
func (s *Stream) after(ctx context.Context, op *operation, diff bsonx.Doc) (bsonx.Value, error) {
	if s.spec.FullDocument == updateLookup {
		doc, err := s.source.Document(ctx, op.db, op.coll, op.o2.Lookup("_id"))
		if err != nil || doc == nil {
			return bsonx.Null, err
		}
		return bsonx.Document(doc), nil
	}
	if op.pre != nil {
		doc, err := oplog.Apply(nil, op.pre, diff)
		return bsonx.Document(doc), err
	}
	if s.spec.FullDocument == required {
		return bsonx.Null, mongoerr.New(mongoerr.NoMatchingDocument,
			"Change stream was configured to require a post-image for all update events, but the post-image was not found for event: %s", describeOp(op))
	}
	return bsonx.Null, nil
}

// appendBefore appends the document before the change, if the stream asks for it. It fails if the
// stream requires the document and the oplog does not have it.
func (s *Stream) appendBefore(b *bsonx.Builder, op *operation) error {
	switch {
	case s.spec.Before == off:
		return nil
	case op.pre != nil:
		b.Doc("fullDocumentBeforeChange", op.pre)
		return nil
	case s.spec.Before == required:
		return mongoerr.New(mongoerr.NoMatchingDocument,
			"Change stream was configured to require a pre-image for all update, delete and replace events, but the pre-image was not found for event: %s", describeOp(op))
	default:
		b.Null("fullDocumentBeforeChange")
		return nil
	}
}

func describeOp(op *operation) string {
	key := op.o2
	if op.kind == oplog.Delete {
		key = op.o
	}
	return bsonx.FormatShell(bsonx.Document(bsonx.NewDoc("ns", op.db+"."+op.coll, "documentKey", key)))
}
