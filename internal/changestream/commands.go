package changestream

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

const invalidate = "invalidate"

// commandEvents appends the events of a DDL command in the oplog to out. For most DDL commands,
// only streams with showExpandedEvents have an event.
func (s *Stream) commandEvents(out []*event, op *operation) []*event {
	first := op.o.First()
	name := string(first.Key)
	coll := ""
	if first.Value.Type == bsonx.TypeString {
		coll = first.Value.Str()
	}
	switch name {
	case "drop":
		if !s.scope.has(op.db, coll) {
			return out
		}
		return s.structural(out, op, "drop", coll, nil)
	case "dropDatabase":
		return s.dropDatabase(out, op)
	case "renameCollection":
		return s.rename(out, op, coll)
	}
	if !s.spec.Expanded || !s.scope.has(op.db, coll) {
		return out
	}
	switch name {
	case "create":
		return append(out, s.definition(op, "create", coll, op.o.Without("create")))
	case "createIndexes":
		return append(out, s.definition(op, "createIndexes", coll, indexes(op.o.Without("createIndexes"))))
	case "dropIndexes":
		return append(out, s.definition(op, "dropIndexes", coll, indexes(op.o2)))
	case "collMod":
		return append(out, s.modification(op, coll))
	default:
		return out
	}
}

// structural appends the event of a drop or a rename of a collection. If the stream watches a
// single collection, structural also appends the invalidate event. If more is not nil, it adds
// fields to the event of the drop or rename.
func (s *Stream) structural(out []*event, op *operation, name, coll string, more func(*bsonx.Builder)) []*event {
	token := op.token(name, nil)
	b := s.begin(op, name, token)
	appendNS(b, "ns", op.db, coll)
	if more != nil {
		more(b)
	}
	out = append(out, finish(b, token))
	if s.scope.Collection != "" {
		out = append(out, s.invalidation(op, name))
	}
	return out
}

func (s *Stream) rename(out []*event, op *operation, from string) []*event {
	_, coll, _ := strings.Cut(from, ".")
	to := op.o.Lookup("to").Str()
	toDB, toColl, _ := strings.Cut(to, ".")
	if !s.scope.has(op.db, coll) && !s.scope.has(toDB, toColl) {
		return out
	}
	return s.structural(out, op, "rename", coll, func(b *bsonx.Builder) {
		appendNS(b, "to", toDB, toColl)
		if !s.spec.Expanded {
			return
		}
		b.StartDocField("operationDescription")
		appendNS(b, "to", toDB, toColl)
		if v := op.o.Lookup("dropTarget"); !v.IsMissing() {
			b.Value("dropTarget", v)
		}
		b.End()
	})
}

func (s *Stream) dropDatabase(out []*event, op *operation) []*event {
	if s.scope.DB != "" && s.scope.DB != op.db {
		return out
	}
	token := op.token("dropDatabase", nil)
	if s.scope.Collection == "" {
		b := s.begin(op, "dropDatabase", token)
		appendNS(b, "ns", op.db, "")
		out = append(out, finish(b, token))
	}
	if s.scope.DB != "" {
		out = append(out, s.invalidation(op, "dropDatabase"))
	}
	return out
}

// invalidation returns the invalidate event, the last event of a stream. Its token follows the
// token of the event that caused it, such as a drop.
func (s *Stream) invalidation(op *operation, cause string) *event {
	token := Token{Stamp: op.stamp, kind: eventToken, Index: op.index, FromInvalidate: true}.Doc(bsonx.String(cause))
	e := finish(s.begin(op, invalidate, token), token)
	e.ends = true
	return e
}

// definition returns the event of a DDL command. Only streams with showExpandedEvents have it.
func (s *Stream) definition(op *operation, name, coll string, description bsonx.Doc) *event {
	token := op.token(name, nil)
	b := s.begin(op, name, token)
	appendNS(b, "ns", op.db, coll)
	b.Doc("operationDescription", description)
	if name == "create" {
		kind := "collection"
		switch {
		case !op.o.Lookup("viewOn").IsMissing():
			kind = "view"
		case !op.o.Lookup("timeseries").IsMissing():
			kind = "timeseries"
		}
		b.String("nsType", kind)
	}
	return finish(b, token)
}

func (s *Stream) modification(op *operation, coll string) *event {
	token := op.token("modify", nil)
	b := s.begin(op, "modify", token)
	appendNS(b, "ns", op.db, coll)
	b.Doc("operationDescription", op.o.Without("collMod"))
	b.StartDocField("stateBeforeChange")
	b.Fields(op.o2)
	b.End()
	return finish(b, token)
}

func indexes(spec bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.StartArrayField("indexes")
	b.Elem(bsonx.Document(spec))
	b.End()
	b.End()
	return b.Bytes()
}
