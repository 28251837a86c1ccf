package relation

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleBoth   = "a refers to b exactly if b refers to a"
	RuleExists = "what is referred to exists"
	RuleOnce   = "a reference is in a list once"
	RuleMax    = "a list has at most Max references"
	RuleCount  = "a bucket's count is the number of its items, and at most its size"
	RulePages  = "pages follow each other, and all but the last are full"
	RuleOne    = "a document has exactly one partner"
)

// pair is a left and a right document of which at least one refers to the other.
type pair struct{ left, right string }

// references holds all references of both sides.
type references struct {
	lefts, rights       map[string]bson.RawValue // the _ids of all documents
	fromLeft, fromRight map[pair]int             // the number of times a reference occurs
	ids                 map[string]bson.RawValue // all _ids and references by their keys
	long                []patterns.Violation
}

func key(v bson.RawValue) string { return string(append([]byte{byte(v.Type)}, v.Value...)) }

// Check reads all documents and lists the violations of the rules. Call it after Repair, while no
// other process changes references. It keeps all references in memory.
func (r *Relations) Check(ctx context.Context) ([]patterns.Violation, error) {
	refs, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	out := refs.long
	report := func(rule string, e end, id, ref string) {
		out = append(out, patterns.Violation{
			Rule: rule, Collection: e.coll.Name(), ID: refs.ids[id],
			Detail: fmt.Sprintf("%s has %v", e.field, refs.ids[ref]),
		})
	}
	side := func(e end, from, back map[pair]int, there map[string]bson.RawValue, ends func(pair) (id, ref string)) {
		for p, n := range from {
			id, ref := ends(p)
			_, exists := there[ref]
			switch {
			case !exists:
				report(RuleExists, e, id, ref)
			case back[p] == 0:
				report(RuleBoth, e, id, ref)
			case n > 1:
				report(RuleOnce, e, id, ref)
			}
		}
	}
	side(r.left, refs.fromLeft, refs.fromRight, refs.rights, func(p pair) (string, string) { return p.left, p.right })
	side(r.right, refs.fromRight, refs.fromLeft, refs.lefts, func(p pair) (string, string) { return p.right, p.left })
	return out, nil
}

// Repair changes the left side to agree with the right side, and removes references to documents
// that do not exist. It returns the number of pairs that it has corrected. It may run at any time.
// It may also count pairs that are being written at that moment.
func (r *Relations) Repair(ctx context.Context) (n int64, err error) {
	refs, err := r.read(ctx)
	if err != nil {
		return 0, err
	}
	all := map[pair]bool{}
	for p := range refs.fromLeft {
		all[p] = true
	}
	for p := range refs.fromRight {
		all[p] = true
	}
	for p := range all {
		if refs.fromLeft[p] == 1 && refs.fromRight[p] == 1 {
			continue
		}
		left, right := refs.ids[p.left], refs.ids[p.right]
		for _, twice := range []struct {
			n       int
			e       end
			id, ref bson.RawValue
		}{{refs.fromLeft[p], r.left, left, right}, {refs.fromRight[p], r.right, right, left}} {
			if twice.n > 1 {
				if err := once(ctx, twice.e, twice.id, twice.ref); err != nil {
					return n, err
				}
			}
		}
		if err := r.sync(ctx, left, right); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// once removes repeated references from a list, with one update. The first of each stays.
func once(ctx context.Context, e end, id, ref bson.RawValue) error {
	list := "$" + e.field
	same := bson.D{{"$eq", bson.A{"$$this", bson.D{{"$literal", ref}}}}}
	has := bson.D{{"$in", bson.A{"$$this", "$$value"}}}
	unique := bson.D{{"$reduce", bson.D{
		{"input", list},
		{"initialValue", bson.A{}},
		{"in", bson.D{{"$cond", bson.A{
			bson.D{{"$and", bson.A{same, has}}},
			"$$value",
			bson.D{{"$concatArrays", bson.A{"$$value", bson.A{"$$this"}}}},
		}}}},
	}}}
	change := mongo.Pipeline{{{"$set", bson.D{{e.field, unique}}}}}
	_, err := e.coll.UpdateOne(ctx, bson.D{{"_id", id}, {e.field, ref}}, change)
	return wrap(err, "remove repeated references")
}

func (r *Relations) read(ctx context.Context) (*references, error) {
	refs := &references{
		lefts: map[string]bson.RawValue{}, rights: map[string]bson.RawValue{}, ids: map[string]bson.RawValue{},
		fromLeft: map[pair]int{}, fromRight: map[pair]int{},
	}
	err := r.readSide(ctx, refs, r.left, refs.lefts, func(id, ref string) { refs.fromLeft[pair{id, ref}]++ })
	err2 := r.readSide(ctx, refs, r.right, refs.rights, func(id, ref string) { refs.fromRight[pair{ref, id}]++ })
	return refs, errors.Join(err, err2)
}

func (r *Relations) readSide(ctx context.Context, refs *references, e end, docs map[string]bson.RawValue,
	add func(id, ref string),
) error {
	found, err := e.coll.Find(ctx, bson.D{}, options.Find().SetProjection(bson.D{{e.field, 1}}))
	if err != nil {
		return wrap(err, "read "+e.coll.Name())
	}
	defer func() { _ = found.Close(context.WithoutCancel(ctx)) }()
	keep := func(v bson.RawValue) string {
		k := key(v)
		if _, ok := refs.ids[k]; !ok {
			refs.ids[k] = bson.RawValue{Type: v.Type, Value: append([]byte(nil), v.Value...)}
		}
		return k
	}
	for found.Next(ctx) {
		id := keep(found.Current.Lookup("_id"))
		docs[id] = refs.ids[id]
		list, ok := found.Current.Lookup(e.field).ArrayOK()
		if !ok {
			continue
		}
		values, err := list.Values()
		if err != nil {
			return wrap(err, "read "+e.coll.Name())
		}
		if len(values) > r.max {
			refs.long = append(refs.long, patterns.Violation{
				Rule: RuleMax, Collection: e.coll.Name(), ID: refs.ids[id], Detail: fmt.Sprintf("%d", len(values)),
			})
		}
		for _, v := range values {
			add(id, keep(v))
		}
	}
	return wrap(found.Err(), "read "+e.coll.Name())
}
