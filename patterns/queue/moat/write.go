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

// Op is what a write does.
type Op string

// The kinds of writes: each changes one document, which it names by its _id.
const (
	OpInsert  Op = "insert"
	OpReplace Op = "replace"
	OpUpdate  Op = "update"
	OpUpsert  Op = "upsert"
	OpDelete  Op = "delete"
)

// Write is a write of one document. It is made by Insert, Replace, Update, Upsert or Delete.
type Write struct {
	ID         bson.ObjectID `bson:"_id"`
	Collection string        `bson:"coll"`
	Op         Op            `bson:"op"`
	Document   bson.RawValue `bson:"id"` // the _id of the document
	// Data is a document {v: …} with the document, the update or the pipeline, in bytes: servers
	// before 5.0 keep no names with $.
	Data []byte `bson:"data,omitempty"`

	// What the moat says of it.
	State   State          `bson:"state"`
	Seq     bson.Timestamp `bson:"seq"` // given by the server: writes are made in this order
	At      time.Time      `bson:"at"`
	Error   string         `bson:"error,omitempty"`   // why it was rejected
	Expires time.Time      `bson:"expires,omitempty"` // when one that was made is forgotten

	err error // it could not be made
}

// State is how far a write has come.
type State string

const (
	// Waiting writes will be made.
	Waiting State = "waiting"
	// Made writes are remembered for a while.
	Made State = "made"
	// Rejected writes were refused by the remote server for what they are, and are kept for people
	// to look at.
	Rejected State = "rejected"
)

// Insert inserts a document, which gets an _id if it has none.
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

// Replace makes a document what is given, whether or not it exists.
func Replace(collection string, id, doc any) Write { return newWrite(collection, OpReplace, id, doc) }

// Update changes a document by update operators or a pipeline. One that does not exist is left so.
func Update(collection string, id, update any) Write {
	return newWrite(collection, OpUpdate, id, update)
}

// Upsert is Update that makes the document if it does not exist.
func Upsert(collection string, id, update any) Write {
	return newWrite(collection, OpUpsert, id, update)
}

// Delete removes a document.
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

// Write keeps writes, which will be made in their order, behind all that were kept before. It takes
// one insert. When it is not known whether it has succeeded it may be called again with the same
// values, as long as Keep.
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
	default: // the replayer is about to look
	}
	return nil
}

// complete keeps those of several writes that are not kept yet, one after the other.
func (m *Moat) complete(ctx context.Context, writes []Write) error {
	for _, w := range writes {
		if _, err := m.coll.InsertOne(ctx, w); err != nil && !mongo.IsDuplicateKeyError(err) {
			return err
		}
	}
	return nil
}
