package moat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns/lock"
)

// mark is stored in a remote document. It identifies the last write that a moat has applied to the
// document, and the token of the lease under which it was applied.
type mark struct {
	Write bson.ObjectID `bson:"write"`
	Token int64         `bson:"token"`
}

// lease identifies the replayer that applies writes: the field of its marks, and its token.
type lease struct {
	field string
	token int64
}

// apply applies writes of one collection in their order. It returns the writes that the server
// rejected, with the reasons.
func (m *Moat) apply(ctx context.Context, batch []Write, by lease) (rejected map[bson.ObjectID]string, err error) {
	coll := m.remote.Collection(batch[0].Collection)
	rejected = make(map[bson.ObjectID]string)
	for rest := batch; len(rest) > 0; {
		var models []mongo.WriteModel
		var sent []Write
		for i := range rest {
			model, err := model(&rest[i], by)
			if err != nil { // does not happen, because Write has checked the write
				rejected[rest[i].ID] = err.Error()
				continue
			}
			models, sent = append(models, model), append(sent, rest[i])
		}
		if len(models) == 0 {
			return rejected, nil
		}
		_, err := coll.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(true))
		var refused mongo.BulkWriteException
		switch {
		case err == nil:
			return rejected, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.As(err, &refused) || len(refused.WriteErrors) == 0:
			return nil, errors.Join(ErrAway, err)
		}
		bad := refused.WriteErrors[0]
		w := sent[bad.Index]
		rest = sent[bad.Index+1:]
		if mongo.IsDuplicateKeyError(bad.WriteError) {
			made, err := made(ctx, coll, w, by)
			if err != nil {
				return nil, err
			}
			if made {
				continue
			}
		}
		rejected[w.ID] = bad.Message
	}
	return rejected, nil
}

// made reports whether a write has been applied before.
func made(ctx context.Context, coll *mongo.Collection, w Write, by lease) (bool, error) {
	raw, err := coll.FindOne(ctx, bson.D{{"_id", w.Document}}).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return false, nil
	}
	if err != nil {
		return false, errors.Join(ErrAway, err)
	}
	var last mark
	if v, err := raw.LookupErr(strings.Split(by.field, ".")...); err != nil || v.Unmarshal(&last) != nil {
		return false, nil // the document was never written through this moat
	}
	if last.Token > by.token {
		return false, lock.ErrLost
	}
	return last.Write == w.ID, nil
}

// model returns the driver's model of a write. The write has no effect if the document's mark shows
// that it was already applied, or that a later holder of the lease has written.
func model(w *Write, by lease) (mongo.WriteModel, error) {
	last := mark{Write: w.ID, Token: by.token}
	filter := bson.D{
		{"_id", w.Document},
		{by.field + ".token", bson.D{{"$not", bson.D{{"$gt", by.token}}}}},
	}
	if w.Op == OpDelete {
		return mongo.NewDeleteOneModel().SetFilter(filter), nil
	}
	filter = append(filter, bson.E{by.field + ".write", bson.D{{"$ne", w.ID}}})
	v, err := bson.Raw(w.Data).LookupErr("v")
	if err != nil {
		return nil, fmt.Errorf("there is nothing to %s: %w", w.Op, err)
	}
	switch w.Op {
	case OpInsert:
		doc, err := markedDocument(v, by.field, w.Document, last)
		if err != nil {
			return nil, err
		}
		return mongo.NewInsertOneModel().SetDocument(doc), nil
	case OpReplace:
		doc, err := document(v, w.Document)
		if err != nil {
			return nil, err
		}
		return mongo.NewUpdateOneModel().SetFilter(filter).
			SetUpdate(replacement(doc, by.field, last)).SetUpsert(true), nil
	case OpUpdate, OpUpsert:
		update, err := markedUpdate(v, by.field, last)
		if err != nil {
			return nil, err
		}
		return mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(update).SetUpsert(w.Op == OpUpsert), nil
	default:
		return nil, fmt.Errorf("a write of the unknown kind %q", w.Op)
	}
}

// document returns a document with its _id as the first field.
func document(v, id bson.RawValue) (bson.Raw, error) {
	doc, ok := v.DocumentOK()
	if !ok {
		return nil, fmt.Errorf("a %s is not a document", v.Type)
	}
	if first, err := doc.IndexErr(0); err == nil && strings.HasPrefix(first.Key(), "$") {
		return nil, fmt.Errorf("a document with the field %s", first.Key())
	}
	return withField(doc, "_id", id)
}

// markedDocument returns a document with its _id and the mark.
func markedDocument(v bson.RawValue, field string, id bson.RawValue, last mark) (bson.Raw, error) {
	doc, err := document(v, id)
	if err != nil {
		return nil, err
	}
	outer, name, _ := strings.Cut(field, ".")
	if doc, err = withField(doc, outer, bson.D{{name, last}}); err != nil {
		return nil, err
	}
	return withField(doc, "_id", id)
}

// replacement returns an update that replaces a document but keeps the marks of all moats.
func replacement(doc bson.Raw, field string, last mark) bson.A {
	outer, name, _ := strings.Cut(field, ".")
	own := bson.D{{name, bson.D{{"$literal", last}}}}
	marks := bson.D{{"$mergeObjects", bson.A{"$" + outer, own}}}
	return bson.A{bson.D{{"$replaceWith", bson.D{{"$mergeObjects", bson.A{
		bson.D{{"$literal", doc}}, bson.D{{outer, marks}},
	}}}}}}
}

// markedUpdate returns an update that also sets the mark.
func markedUpdate(v bson.RawValue, field string, last mark) (any, error) {
	set := bson.E{field, last}
	if stages, ok := v.ArrayOK(); ok {
		values, err := stages.Values()
		if err != nil {
			return nil, err
		}
		pipeline := bson.A{}
		for _, stage := range values {
			doc, ok := stage.DocumentOK()
			if !ok {
				return nil, fmt.Errorf("a stage of type %s", stage.Type)
			}
			pipeline = append(pipeline, doc)
		}
		return append(pipeline, bson.D{{"$set", bson.D{{set.Key, bson.D{{"$literal", last}}}}}}), nil
	}
	var update bson.D
	if err := v.Unmarshal(&update); err != nil {
		return nil, err
	}
	for i, e := range update {
		if !strings.HasPrefix(e.Key, "$") {
			return nil, fmt.Errorf("an update has the operator %q", e.Key)
		}
		if fields, ok := e.Value.(bson.D); ok && e.Key == "$set" {
			update[i].Value = append(fields, set)
			return update, nil
		}
	}
	return append(update, bson.E{"$set", bson.D{set}}), nil
}
