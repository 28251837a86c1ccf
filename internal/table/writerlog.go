package table

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// writerLog holds the state that a Writer needs to log its changes.
type writerLog struct {
	// on says that the collection's changes are logged. images says that the document before each
	// change is logged too.
	on, images bool
	by         *oplog.Writer
	grown      storage.Counter
	differ     oplog.Differ
	op         oplog.Operation
	// entry is the buffer for an oplog entry, o and o2 are the buffers for its fields o and o2.
	entry, o, o2 []byte
}

// Attribute sets the client that makes the following changes, for the oplog; nil means no client.
func (w *Writer) Attribute(by *oplog.Writer) { w.log.by = by }

// beginLog prepares the log for the Writer's collection.
func (w *Writer) beginLog() {
	l := &w.log
	l.on, l.by, l.grown = w.store.log.Covers(w.coll.DB), nil, storage.Counter{}
	l.images = l.on && w.coll.PreImages
}

// endLog clears the state of the transaction and drops large buffers.
func (w *Writer) endLog() {
	l := &w.log
	l.by, l.op = nil, oplog.Operation{}
	if cap(l.entry) > maxKeptDoc {
		l.entry = nil
	}
	if cap(l.o) > maxKeptDoc {
		l.o = nil
	}
}

func (w *Writer) logInsert(id bsonx.Value, doc bsonx.Doc) error {
	if !w.log.on {
		return nil
	}
	return w.logChange(oplog.Insert, id, doc, nil)
}

// logUpdate logs a new version of a document. As in MongoDB, it logs the whole document for a
// replacement, and for a pipeline update whose difference is not smaller than the document.
// Otherwise it logs the difference.
func (w *Writer) logUpdate(old, doc bsonx.Doc, how Change) error {
	l := &w.log
	if !l.on {
		return nil
	}
	id := doc.Lookup("_id")
	if how == Replacement {
		return w.logChange(oplog.Update, id, doc, old)
	}
	b := bsonx.NewBuilder(l.o[:0])
	b.StartDoc()
	b.Int32("$v", 2)
	b.StartDocField("diff")
	l.differ.Fine = how == Modification
	l.differ.Running = &w.running
	if err := l.differ.Fields(b, old, doc); err != nil {
		return err
	}
	b.End()
	b.End()
	l.o = b.Bytes()
	if how == Rewriting && len(l.o) >= len(doc) {
		return w.logChange(oplog.Update, id, doc, old)
	}
	return w.logChange(oplog.Update, id, l.o, old)
}

func (w *Writer) logDelete(old bsonx.Doc) error {
	if !w.log.on {
		return nil
	}
	return w.logChange(oplog.Delete, old.Lookup("_id"), nil, old)
}

// logChange logs one change. o is nil for a deletion, old is nil for an insertion.
func (w *Writer) logChange(kind oplog.Kind, id bsonx.Value, o, old bsonx.Doc) error {
	l := &w.log
	key := bsonx.NewBuilder(l.o2[:0])
	key.StartDoc()
	if !id.IsMissing() {
		key.Value("_id", id)
	}
	key.End()
	l.o2 = key.Bytes()
	l.op = oplog.Operation{Kind: kind, Namespace: w.coll.Namespace(), UUID: &w.coll.UUID, O: o, O2: l.o2, By: l.by}
	if o == nil {
		l.op.O, l.op.O2 = l.o2, nil
	}
	if l.images {
		l.op.PreImage = old
	}
	if w.multi != nil {
		w.multi.log.Add(&l.op)
		return nil
	}
	entry, err := w.store.log.Append(w.txn, l.entry, &l.op)
	if err != nil {
		return err
	}
	l.entry = entry
	l.grown.Count++
	l.grown.Bytes += int64(len(entry))
	return nil
}
