package update

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// UpsertDoc returns the document that an upsert inserts if no document matches. It consists of the
// equality conditions of the query, changed by the update, with _id first. A replacement takes only
// _id from the query. The query must be a valid filter.
func UpsertDoc(query bsonx.Doc, u *Update, env Env) (bsonx.Doc, error) {
	env.Insert = true
	base, err := u.base(query)
	if err != nil {
		return nil, err
	}
	doc, _, err := u.apply(base, env)
	if err != nil {
		return nil, err
	}
	if doc == nil {
		doc = base
	}
	id := doc.Lookup("_id")
	if id.IsMissing() {
		if env.NewID == nil {
			env.NewID = newObjectID
		}
		id = env.NewID()
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	if string(doc.First().Key) != "_id" {
		doc = withID(id, doc)
	}
	if err := checkNesting(bsonx.Document(doc), 0); err != nil {
		return nil, err
	}
	if len(doc) > limits.DocumentBytes {
		return nil, mongoerr.New(upsertTooLarge, "Document to upsert is larger than %d", limits.DocumentBytes)
	}
	return doc, nil
}

// base returns the document that the query alone implies.
func (u *Update) base(query bsonx.Doc) (bsonx.Doc, error) {
	e := &equalities{idOnly: u.kind == KindReplacement}
	if err := e.query(query, 0); err != nil {
		return nil, err
	}
	if err := e.conflict(); err != nil {
		return nil, err
	}
	return e.document(), nil
}

// equalities contains the paths for which a query requires equality with one value.
type equalities struct {
	idOnly bool
	list   []equality
}

type equality struct {
	path  string
	value bsonx.Value
}

// query collects equalities from a query document. depth is the nesting depth of logical operators.
func (e *equalities) query(q bsonx.Doc, depth int) error {
	if depth > limits.FilterDepth {
		return mongoerr.New(mongoerr.BadValue, "the query is nested too deeply")
	}
	for it := q.Iter(); it.Next(); {
		var err error
		key, v := string(it.Key()), it.Value()
		switch {
		case key == "$and":
			err = e.branches(v.Doc().Values(), depth)
		case key == "$or":
			err = e.branches(oneBranch(v.Doc().Values()), depth)
		case strings.HasPrefix(key, "$"):
		case isOperatorDoc(v):
			err = e.operators(key, v.Doc())
		case v.Type != bsonx.TypeRegex:
			err = e.add(key, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *equalities) branches(values []bsonx.Value, depth int) error {
	for _, v := range values {
		if v.Type != bsonx.TypeDocument {
			continue
		}
		if err := e.query(v.Doc(), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// oneBranch returns the branch of an $or that has only one branch, or whose branches are all the
// same.
func oneBranch(values []bsonx.Value) []bsonx.Value {
	for _, v := range values {
		if !v.Identical(values[0]) {
			return nil
		}
	}
	return values[:min(len(values), 1)]
}

// isOperatorDoc reports whether the value of a query field is an operator document. A DBRef is a
// value.
func isOperatorDoc(v bsonx.Value) bool {
	if v.Type != bsonx.TypeDocument {
		return false
	}
	key := string(v.Doc().First().Key)
	return strings.HasPrefix(key, "$") && !bsonx.IsReferenceField(key)
}

// operators collects equalities from the operators on one field.
func (e *equalities) operators(path string, ops bsonx.Doc) error {
	for it := ops.Iter(); it.Next(); {
		var err error
		v := it.Value()
		switch string(it.Key()) {
		case "$eq":
			err = e.add(path, v)
		case "$in":
			if one, ok := onlyValue(v); ok && one.Type != bsonx.TypeRegex {
				err = e.add(path, one)
			}
		case "$all":
			err = e.all(path, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// all treats {$all: [x, y]} as two equality conditions.
func (e *equalities) all(path string, v bsonx.Value) error {
	if v.Type != bsonx.TypeArray {
		return nil
	}
	for _, x := range v.Doc().Values() {
		if x.Type == bsonx.TypeRegex || x.Type == bsonx.TypeDocument && string(x.Doc().First().Key) == "$elemMatch" {
			continue
		}
		if err := e.add(path, x); err != nil {
			return err
		}
	}
	return nil
}

// onlyValue returns the value of a list whose elements are all equal.
func onlyValue(v bsonx.Value) (bsonx.Value, bool) {
	if v.Type != bsonx.TypeArray {
		return bsonx.Value{}, false
	}
	values := v.Doc().Values()
	for _, other := range values {
		if !contains(values[:1], other, bsonx.CompareValues) {
			return bsonx.Value{}, false
		}
	}
	if len(values) == 0 {
		return bsonx.Value{}, false
	}
	return values[0], true
}

// add adds an equality condition. For a replacement it ignores all paths except _id.
func (e *equalities) add(path string, v bsonx.Value) error {
	if e.idOnly && path != "_id" {
		if strings.HasPrefix(path, "_id.") {
			return mongoerr.New(mongoerr.NotExactValueField, "field at '_id' must be exactly specified, field at sub-path '%s'found", path)
		}
		return nil
	}
	e.list = append(e.list, equality{path, v})
	return nil
}

// conflict returns an error if a path occurs twice or is a prefix of another path. It compares the
// paths in sorted order, which decides which conflict is reported.
func (e *equalities) conflict() error {
	paths := make([]string, 0, len(e.list))
	for _, eq := range e.list {
		paths = append(paths, eq.path)
	}
	slices.Sort(paths)
	for i, path := range paths {
		for _, other := range paths[:i] {
			if other == path {
				return mongoerr.New(mongoerr.NotSingleValueField, "cannot infer query fields to set, path '%s' is matched twice", path)
			}
			if related(other, path) {
				return mongoerr.New(mongoerr.NotSingleValueField,
					"cannot infer query fields to set, both paths '%s' and '%s' are matched", path, other)
			}
		}
	}
	return nil
}

// document builds a document from the equality conditions, in the order of the query, with _id
// first.
func (e *equalities) document() bsonx.Doc {
	root := &seed{}
	for _, eq := range e.list {
		root.put(strings.Split(eq.path, "."), eq.value)
	}
	for i, f := range root.fields {
		if f.name == "_id" {
			copy(root.fields[1:i+1], root.fields[:i])
			root.fields[0] = f
		}
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	root.encode(b)
	b.End()
	return b.Bytes()
}

// seed is a field of a document under construction.
type seed struct {
	name   string
	value  bsonx.Value // the value; missing if the field is a document with fields
	fields []*seed
}

func (s *seed) put(path []string, v bsonx.Value) {
	for _, part := range path {
		s = s.field(part)
	}
	s.value = v
}

func (s *seed) field(name string) *seed {
	for _, f := range s.fields {
		if f.name == name {
			return f
		}
	}
	f := &seed{name: name}
	s.fields = append(s.fields, f)
	return f
}

func (s *seed) encode(b *bsonx.Builder) {
	for _, f := range s.fields {
		if f.fields == nil {
			b.Value(f.name, f.value)
			continue
		}
		b.StartDocField(f.name)
		f.encode(b)
		b.End()
	}
}
