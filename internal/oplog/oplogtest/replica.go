package oplogtest

import (
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/oplog"
)

// Replica holds in memory the collections that result from the entries of an oplog.
type Replica struct {
	collections map[string]*collection // by namespace
	last        bson.Timestamp         // timestamp of the newest applied entry
	applied     int
	events      bool // the Replica applies the events of a change stream; see NewMirror
}

// collection is a collection or a view.
type collection struct {
	uuid    bsonx.Value
	options bsonx.Doc
	indexes map[string]bsonx.Doc // by name, without the index on _id
	docs    map[string]bsonx.Doc // documents, by the key that keyOf returns
}

// NewReplica returns an empty Replica.
func NewReplica() *Replica { return &Replica{collections: map[string]*collection{}} }

// Applied returns the number of applied entries.
func (r *Replica) Applied() int { return r.applied }

// CatchUp applies the entries after the last applied one. It fails if the oplog does not begin with
// the store.
func (r *Replica) CatchUp(ctx context.Context, client *mongo.Client) error {
	log := client.Database(oplog.DB).Collection(oplog.Collection)
	cursor, err := log.Find(ctx, bson.D{{"ts", bson.D{{"$gt", r.last}}}})
	if err != nil {
		return err
	}
	defer func() { _ = cursor.Close(ctx) }()
	for cursor.Next(ctx) {
		entry := bsonx.Doc(cursor.Current)
		if r.applied == 0 && entry.LookupPath("o", "msg").Type != bsonx.TypeString {
			return fmt.Errorf("the log begins with %v", cursor.Current)
		}
		if err := r.Apply(entry); err != nil {
			return fmt.Errorf("%w: entry %v", err, cursor.Current)
		}
		r.last.T, r.last.I = entry.Lookup("ts").Timestamp()
	}
	return cursor.Err()
}

// Apply applies an oplog entry.
func (r *Replica) Apply(entry bsonx.Doc) error {
	r.applied++
	return r.operation(entry)
}

// operation applies an entry or an element of applyOps.
func (r *Replica) operation(op bsonx.Doc) error {
	ns, o := op.Lookup("ns").Str(), op.Lookup("o").Doc()
	kind := oplog.Kind(op.Lookup("op").Str())
	if kind == oplog.Noop {
		return nil
	}
	if kind == oplog.Command {
		db, _, _ := strings.Cut(ns, ".")
		return r.command(db, op, o)
	}
	c := r.collections[ns]
	if c == nil {
		return fmt.Errorf("%s of a document of %s, which does not exist", kind, ns)
	}
	if ui := op.Lookup("ui"); !ui.Identical(c.uuid) {
		return fmt.Errorf("%s has the UUID %v, not %v", ns, bsonx.FormatShell(c.uuid), bsonx.FormatShell(ui))
	}
	return c.change(kind, o, op)
}

// keyOf returns the same key for equal _ids, including numbers of different types: an update may
// replace an _id by an equal number of another type.
func keyOf(doc bsonx.Doc) string { return string(keystring.Append(nil, doc.Lookup("_id"), false)) }

func (c *collection) change(kind oplog.Kind, o, op bsonx.Doc) error {
	key := keyOf(o)
	if kind == oplog.Update {
		key = keyOf(op.Lookup("o2").Doc())
	}
	old, exists := c.docs[key]
	if exists == (kind == oplog.Insert) {
		return fmt.Errorf("%s of a document that exists: %t", kind, exists)
	}
	if pre := op.Lookup("preImage"); pre.Type == bsonx.TypeDocument && !pre.Doc().Equal(old) {
		return fmt.Errorf("the version before was %v", bson.Raw(old))
	}
	switch kind {
	case oplog.Insert:
		c.docs[key] = o.Clone()
	case oplog.Delete:
		delete(c.docs, key)
	case oplog.Update:
		doc := o.Clone()
		if diff := o.Lookup("diff"); !o.Lookup("$v").IsMissing() {
			var err error
			if doc, err = oplog.Apply(nil, old, diff.Doc()); err != nil {
				return err
			}
		}
		if keyOf(doc) != key {
			return fmt.Errorf("an update changes an _id")
		}
		c.docs[key] = doc
	case oplog.Command, oplog.Noop:
	default:
		return fmt.Errorf("unknown operation %q", kind)
	}
	return nil
}
