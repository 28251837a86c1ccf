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

// operation is an operation of an entry, or an element of its applyOps.
type operation struct {
	kind        oplog.Kind
	db, coll    string // coll is "$cmd" for commands
	uuid        bsonx.Value
	o, o2       bsonx.Doc
	pre         bsonx.Doc // nil if it was not kept, or kept too long ago
	stamp       storage.Stamp
	wall        bsonx.Value
	index       int32 // in the transaction
	lsid        bsonx.Value
	txnNumber   bsonx.Value
	transaction bool
}

// operation reads an operation of an entry with that stamp and time.
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

// event is built from an operation.
type event struct {
	doc   bsonx.Doc
	token bsonx.Doc
	// ends means that this is the last event.
	ends bool
}

// begin writes the fields that all events begin with.
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

// token returns the token of an event.
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

// documentEvent returns the event of a change of a document.
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

// updateEvent returns the event for a new version of a document: an update if it was logged as a
// diff, else a replacement.
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

// after returns the version after an update, or null.
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

// appendBefore adds the previous version of the document, if the stream wants it.
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
