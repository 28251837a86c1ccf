package moat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Op is the kind of a write.
type Op string

// The kinds of writes. Each write changes one document, which it names by its _id.
const (
	OpInsert  Op = "insert"
	OpReplace Op = "replace"
	OpUpdate  Op = "update"
	OpUpsert  Op = "upsert"
	OpDelete  Op = "delete"
)

// Write is a write to one document. Insert, Replace, Update, Upsert and Delete create it.
type Write struct {
	ID         bson.ObjectID `bson:"_id"`
	Collection string        `bson:"coll"`
	Op         Op            `bson:"op"`
	Document   bson.RawValue `bson:"id"` // the _id of the document
	// Data is a document {v: …} with the document, the update or the pipeline, encoded as bytes.
	// Servers before 5.0 cannot store field names that begin with $.
	Data []byte `bson:"data,omitempty"`

	// The moat sets State and the fields after it.
	State   State          `bson:"state"`
	Seq     bson.Timestamp `bson:"seq"` // set by the server; writes are applied in this order
	At      time.Time      `bson:"at"`
	Error   string         `bson:"error,omitempty"`   // the reason of the rejection
	Expires time.Time      `bson:"expires,omitempty"` // when an applied write is removed

	err error // the error if the write could not be created
}

// State is the progress of a write.
type State string

const (
	// Waiting writes will be applied.
	Waiting State = "waiting"
	// Made writes have been applied. They are remembered for Config.Keep.
	Made State = "made"
	// Rejected writes were refused by the remote server. They are kept until an operator retries or
	// drops them.
	Rejected State = "rejected"
)

// Insert returns a write that inserts a document. The document gets an _id if it has none.
func Insert(collection string, doc any) Write {
	data, err := bson.Marshal(doc)
	if err != nil {
		return Write{err: err}
	}
	id, err := bson.Raw(data).LookupErr("_id")
	if err != nil {
		oid := bson.NewObjectID()
		if data, err = withField(data, "_id", oid); err != nil {
			return Write{err: err}
		}
		id = bson.Raw(data).Lookup("_id")
	}
	return newWrite(collection, OpInsert, id, bson.Raw(data))
}

// Replace returns a write that replaces a document, or inserts it if it does not exist.
func Replace(collection string, id, doc any) Write { return newWrite(collection, OpReplace, id, doc) }

// Update returns a write that changes a document with update operators or a pipeline. It has no
// effect if the document does not exist.
func Update(collection string, id, update any) Write {
	return newWrite(collection, OpUpdate, id, update)
}

// Upsert returns a write that works like Update, but creates the document if it does not exist.
func Upsert(collection string, id, update any) Write {
	return newWrite(collection, OpUpsert, id, update)
}

// Delete returns a write that removes a document.
func Delete(collection string, id any) Write { return newWrite(collection, OpDelete, id, nil) }

func newWrite(collection string, op Op, id, data any) Write {
	w := Write{ID: bson.NewObjectID(), Collection: collection, Op: op}
	kind, value, err := bson.MarshalValue(id)
	if err != nil {
		return Write{err: err}
	}
	w.Document = bson.RawValue{Type: kind, Value: value}
	if op == OpDelete {
		return w
	}
	if w.Data, w.err = bson.Marshal(bson.D{{"v", data}}); w.err != nil {
		return w
	}
	_, w.err = model(&w, lease{field: DefaultField + ".name"})
	return w
}

// withField returns a document with a field in front.
func withField(data bson.Raw, name string, v any) (bson.Raw, error) {
	doc := bson.D{{name, v}}
	elements, err := data.Elements()
	if err != nil {
		return nil, err
	}
	for _, e := range elements {
		if e.Key() != name {
			doc = append(doc, bson.E{e.Key(), e.Value()})
		}
	}
	return bson.Marshal(doc)
}

// Write stores writes in the moat with one insert. They will be applied in their order, after all
// writes that were stored before. A caller that does not know whether Write has succeeded may call
// it again with the same values within Config.Keep.
func (m *Moat) Write(ctx context.Context, writes ...Write) error {
	if len(writes) == 0 {
		return nil
	}
	for i := range writes {
		w := &writes[i]
		if w.err != nil {
			return fmt.Errorf("moat: this cannot be written: %w", w.err)
		}
		if w.Collection == "" {
			return errors.New("moat: a write has no collection")
		}
		w.State, w.At = Waiting, m.env.Now()
	}
	if err := m.ready(ctx); err != nil {
		return err
	}
	_, err := m.coll.InsertMany(ctx, writes, options.InsertMany().SetOrdered(len(writes) > 1))
	if mongo.IsDuplicateKeyError(err) {
		err = m.complete(ctx, writes)
	}
	if err != nil {
		return fmt.Errorf("moat: keep %d writes: %w", len(writes), err)
	}
	m.env.Metrics.Add("moat.kept", int64(len(writes)))
	select {
	case m.kick <- struct{}{}:
	default: // kick holds a value: the replayer will look for writes anyway
	}
	return nil
}

// complete stores the writes that are not stored yet, one after the other.
func (m *Moat) complete(ctx context.Context, writes []Write) error {
	for _, w := range writes {
		if _, err := m.coll.InsertOne(ctx, w); err != nil && !mongo.IsDuplicateKeyError(err) {
			return err
		}
	}
	return nil
}
