package oplog

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// The database, collection and term of the oplog.
const (
	DB         = "local"
	Collection = "oplog.rs"
	Term       = 1
)

// Kind is the kind of an operation, the field op.
type Kind string

// The kinds of operations, as in the field op.
const (
	Insert  Kind = "i"
	Update  Kind = "u"
	Delete  Kind = "d"
	Command Kind = "c"
	Noop    Kind = "n"
)

// Writer identifies the writer: the session and the statement in it.
type Writer struct {
	// Session is the session document for lsid. It is nil if the write cannot be retried.
	Session   bsonx.Doc
	TxnNumber int64
	// StmtID is the statement's number. It is negative if the writer is a whole transaction.
	StmtID int32
}

// Operation is a change of one document, or a command.
type Operation struct {
	Kind Kind
	// Namespace is "db.collection", or "db.$cmd" for a command.
	Namespace string
	// UUID is the UUID of the collection, or nil.
	UUID *[16]byte
	// O is the field o of the entry: the document, its _id, the update or the command.
	O bsonx.Doc
	// O2 is the field o2 of the entry, or nil.
	O2 bsonx.Doc
	// PreImage is the previous version of the document, or nil if it is not kept.
	PreImage bsonx.Doc
	// By is the writer for retryable writes and transactions. It is nil if the write cannot be
	// retried.
	By *Writer
}

// appendFields adds the fields that entries and elements of applyOps have in common.
func (op *Operation) appendFields(b *bsonx.Builder) {
	b.String("op", string(op.Kind))
	b.String("ns", op.Namespace)
	if op.UUID != nil {
		b.Value("ui", bsonx.Binary(4, op.UUID[:]))
	}
	b.Doc("o", op.O)
	if op.O2 != nil {
		b.Doc("o2", op.O2)
	}
	if op.PreImage != nil {
		b.Doc("preImage", op.PreImage)
	}
	if op.By != nil && op.By.StmtID >= 0 {
		b.Int32("stmtId", op.By.StmtID)
	}
}

// AppendTo appends the operation as an element of applyOps.
func (op *Operation) AppendTo(dst []byte) []byte {
	b := bsonx.NewBuilder(dst)
	b.StartDoc()
	op.appendFields(b)
	b.End()
	return b.Bytes()
}

// AppendEntry appends the operation as an entry with a zero stamp. at is the offset in the entry
// where the caller must put the eight bytes of the stamp. wall is in milliseconds since 1970.
func AppendEntry(dst []byte, op *Operation, wall int64) (entry []byte, at int) {
	from := len(dst)
	b := bsonx.NewBuilder(dst)
	b.StartDoc()
	if op.By != nil {
		b.Doc("lsid", op.By.Session)
		b.Int64("txnNumber", op.By.TxnNumber)
	}
	op.appendFields(b)
	b.Value("ts", bsonx.Timestamp(0, 0))
	at = b.Len() - 8 - from
	b.Int64("t", Term)
	b.Int64("v", 2)
	b.Date("wall", wall)
	b.End()
	return b.Bytes(), at
}
