package main

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// kept lists the fields of a successful reply that are compared. The other fields are ignored.
var kept = []string{
	"n", "nModified", "upserted", "value", "values", "lastErrorObject", "numIndexesBefore", "numIndexesAfter",
	"nIndexesWas", "writeErrors", "nInserted", "nMatched", "nUpserted", "nDeleted", "nErrors",
}

// isWrite reports whether a command may change a collection.
func isWrite(cmd bson.D) bool { return written(cmd) != "" }

// written returns the name of the collection that a command may change, or "" if it changes
// nothing.
func written(cmd bson.D) string {
	switch cmd[0].Key {
	case "insert", "update", "delete", "findAndModify", "createIndexes", "dropIndexes", "create":
		name, _ := cmd[0].Value.(string)
		return name
	case "aggregate":
		if stages, _ := lookup(cmd, "pipeline").(bson.A); len(stages) > 0 && isOutput(stages[len(stages)-1]) {
			return otherCollection
		}
	}
	return ""
}

// isOutput reports whether a stage is $out or $merge.
func isOutput(stage any) bool {
	doc, _ := stage.(bson.D)
	return hasField(doc, "$out") || hasField(doc, "$merge")
}

// isOrdered reports whether MongoDB defines the order of a command's rows. Every generated sort
// ends with _id. In a pipeline, such a sort is a total order only if all rows of server A have
// different _id values and no _id is an array, because a sort compares an array by one of its
// elements.
func isOrdered(cmd bson.D, d *difference) bool {
	sort, _ := lookup(cmd, "sort").(bson.D)
	if cmd[0].Key != "aggregate" && cmd[0].Value == collection {
		return len(sort) > 0
	}
	if stages, _ := lookup(cmd, "pipeline").(bson.A); len(stages) > 0 {
		last, _ := stages[len(stages)-1].(bson.D)
		sort, _ = lookup(last, "$sort").(bson.D)
	}
	if len(sort) == 0 || sort[len(sort)-1].Key != "_id" {
		return false
	}
	rows, _ := lookup(d.A, "rows").(bson.A)
	var ids bson.A
	for _, row := range rows {
		doc, _ := row.(bson.D)
		id := lookup(doc, "_id")
		if _, isArray := id.(bson.A); isArray || id == nil {
			return false
		}
		ids = append(ids, id)
	}
	return len(unique(ids)) == len(ids)
}

func isOK(reply bson.D) bool {
	switch ok := lookup(reply, "ok").(type) {
	case float64:
		return ok == 1
	case int32:
		return ok == 1
	}
	return false
}

// normalise returns the fields of a raw reply that are compared.
func normalise(raw bson.D) bson.D {
	if !isOK(raw) {
		return bson.D{{"ok", int32(0)}, {"code", olderCode(lookup(raw, "code"))}}
	}
	out := bson.D{{"ok", int32(1)}}
	for _, key := range kept {
		v := lookup(raw, key)
		switch {
		case v == nil:
			continue
		case key == "writeErrors":
			v = onlyEach(v, "index", "code")
			for _, e := range v.(bson.A) {
				for i, f := range e.(bson.D) {
					if f.Key == "code" {
						e.(bson.D)[i].Value = olderCode(f.Value)
					}
				}
			}
		case key == "lastErrorObject":
			v = only(v, "n", "updatedExisting", "upserted")
		}
		v = mark(v)
		if key == "values" {
			v = unique(v.(bson.A))
		}
		out = append(out, bson.E{key, v})
	}
	return out
}

// mark replaces the values that a server generates by marks: ObjectIds that the generator did not
// make, and times within an hour of now.
func mark(v any) any {
	switch v := v.(type) {
	case bson.D:
		out := make(bson.D, len(v))
		for i, e := range v {
			out[i] = bson.E{e.Key, mark(e.Value)}
		}
		return out
	case bson.A:
		out := make(bson.A, len(v))
		for i, e := range v {
			out[i] = mark(e)
		}
		return out
	case primitive.ObjectID:
		if !isGeneratorID(v) {
			return primitive.Symbol("an id that the server made")
		}
	case primitive.DateTime:
		if d := time.Since(v.Time()); d.Abs() < time.Hour {
			return primitive.Symbol("the present time")
		}
	case primitive.Timestamp:
		if d := time.Since(time.Unix(int64(v.T), 0)); d.Abs() < time.Hour {
			return primitive.Symbol("the present timestamp")
		}
	}
	return v
}

// unique removes repeated values. Different values can become equal when mark replaces them.
func unique(list bson.A) bson.A {
	out := bson.A{}
	for _, v := range list {
		if !slices.ContainsFunc(out, func(o any) bool { return sameValue(o, v) }) {
			out = append(out, v)
		}
	}
	return out
}

func only(v any, keys ...string) any {
	doc, ok := v.(bson.D)
	if !ok {
		return v
	}
	out := bson.D{}
	for _, key := range keys {
		if v := lookup(doc, key); v != nil {
			out = append(out, bson.E{key, v})
		}
	}
	return out
}

func onlyEach(v any, keys ...string) any {
	list, _ := v.(bson.A)
	out := make(bson.A, len(list))
	for i, e := range list {
		out[i] = only(e, keys...)
	}
	return out
}

// lookup returns a field of a document, or nil.
func lookup(doc bson.D, key string) any {
	for _, e := range doc {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// equalReply compares two normalised replies.
func equalReply(a, b bson.D, ordered bool) bool {
	return slices.EqualFunc(a, b, func(x, y bson.E) bool {
		switch {
		case x.Key != y.Key:
			return false
		case x.Key == "rows" && !ordered:
			return equalMultiset(x.Value, y.Value, equalValue)
		case x.Key == "values":
			// The command distinct returns the first of equal values of different types. MongoDB
			// does not define which value is first.
			return equalMultiset(x.Value, y.Value, sameValue)
		}
		return equalValue(x.Value, y.Value)
	})
}

// equalMultiset compares two arrays without regard to order.
func equalMultiset(a, b any, equal func(a, b any) bool) bool {
	x, xok := a.(bson.A)
	y, yok := b.(bson.A)
	if !xok || !yok || len(x) != len(y) {
		return false
	}
	rest := slices.Clone(y)
	for _, v := range x {
		i := slices.IndexFunc(rest, func(r any) bool { return equal(v, r) })
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return true
}

// equalValue reports whether two values have the same BSON type and are equal. The order of fields
// matters, and doubles may differ by a small tolerance.
func equalValue(a, b any) bool {
	switch x := a.(type) {
	case bson.D:
		y, ok := b.(bson.D)
		return ok && slices.EqualFunc(x, y,
			func(p, q bson.E) bool { return p.Key == q.Key && equalValue(p.Value, q.Value) })
	case bson.A:
		y, ok := b.(bson.A)
		return ok && slices.EqualFunc(x, y, equalValue)
	case float64:
		y, ok := b.(float64)
		return ok && equalDouble(x, y)
	case primitive.Decimal128:
		y, ok := b.(primitive.Decimal128)
		return ok && x.String() == y.String() // exponents must be equal too, and NaN equals NaN
	case primitive.CodeWithScope:
		y, ok := b.(primitive.CodeWithScope)
		return ok && x.Code == y.Code && equalValue(x.Scope, y.Scope)
	}
	return reflect.DeepEqual(a, b)
}

func equalDouble(a, b float64) bool {
	if a == b {
		return math.Signbit(a) == math.Signbit(b)
	}
	if math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	return math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b)) && !math.IsInf(a, 0) && !math.IsInf(b, 0)
}

// sameValue reports whether two values are equal in MongoDB's order, in which numbers of different
// types can be equal.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case bson.D:
		y, ok := b.(bson.D)
		return ok && slices.EqualFunc(x, y,
			func(p, q bson.E) bool { return p.Key == q.Key && sameValue(p.Value, q.Value) })
	case bson.A:
		y, ok := b.(bson.A)
		return ok && slices.EqualFunc(x, y, sameValue)
	}
	x, xok := numberText(a)
	y, yok := numberText(b)
	if xok && yok {
		return x == y
	}
	xs, xok := textOf(a)
	ys, yok := textOf(b)
	if xok && yok {
		return xs == ys
	}
	return equalValue(a, b)
}

// textOf returns the text of a string or a symbol. MongoDB compares strings and symbols as one
// type.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case primitive.Symbol:
		return string(v), true
	}
	return "", false
}

// show formats a document as canonical Extended JSON.
func show(doc bson.D) string {
	text, err := bson.MarshalExtJSON(doc, true, false)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// hasField reports whether a document has the field, even with the value null.
func hasField(doc bson.D, key string) bool {
	return slices.ContainsFunc(doc, func(e bson.E) bool { return e.Key == key })
}

func parseJSON(text []byte) (bson.D, error) {
	var doc bson.D
	return doc, bson.UnmarshalExtJSON(text, true, &doc)
}
