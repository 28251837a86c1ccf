package projection

import (
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// action is the effect of a leaf on its field.
type action uint8

const (
	descend action = iota // not a leaf: the field is a branch
	keep
	drop
	compute
)

// field is one name in a node: a leaf, or a branch with names of its own.
type field struct {
	name   string
	action action
	value  expr.Expr // the expression, if action is compute
	branch *node     // the nested names, if action is descend
}

// manyFields is the number of names from which a map is faster than a loop.
const manyFields = 8

// node is the part of a specification for one document: the fields that it names, in order. Nodes
// are small, because a specification may have millions of nodes with one field each.
type node struct {
	fields   []field
	names    *names // nil if there are few fields, and documents are searched for all of them
	kept     int32  // the number of fields whose action is keep
	branches bool   // at least one field is a branch
	computes bool   // a field in this node or below is computed
}

// names finds the fields of a node by name.
type names struct {
	// index maps names to positions in fields, if there are many fields. It contains all fields
	// while they are added, and afterwards only the fields that documents are searched for.
	index map[string]int32
	// sought lists the positions of the fields that documents are searched for, if some is true.
	sought []int32
	some   bool // documents are searched for some fields only
}

// finisher is the state of a walk over the tree. The walk ends early after an interrupt.
type finisher struct {
	kind    kind
	running *interrupt.Running
	meter   interrupt.Meter
	fields  int // the number of fields so far
	err     error
}

// stopped adds a field to fields and its work to the meter, and reports whether the operation was
// interrupted.
func (f *finisher) stopped() bool {
	f.fields++
	return f.worked()
}

// worked adds the work on a field to the meter, and reports whether the operation was interrupted.
func (f *finisher) worked() bool {
	if f.err == nil {
		f.err = f.meter.Did(4*interrupt.Step, f.running)
	}
	return f.err != nil
}

// finish computes the properties of the tree that the evaluation needs.
func (n *node) finish(z *finisher) {
	k := z.kind
	n.clip()
	n.branches, n.computes, n.kept = false, false, 0
	unsought := 0
	for i := range n.fields {
		if z.stopped() {
			return
		}
		f := &n.fields[i]
		if !f.sought(k) {
			unsought++
		}
		switch f.action {
		case descend:
			f.branch.finish(z)
			n.branches = true
			n.computes = n.computes || f.branch.computes
		case compute:
			n.computes = true
		case keep:
			n.kept++
		default:
		}
	}
	n.findable(z, unsought)
}

// sought reports whether a document must be searched for the field. An inclusion does not search
// for computed and dropped fields: it appends computed fields after the kept fields, and omits all
// others.
func (f *field) sought(k kind) bool {
	return k != inclusion || f.action == keep || f.action == descend
}

// findable builds n.names, which find uses. unsought is the number of fields that documents are not
// searched for.
func (n *node) findable(z *finisher, unsought int) {
	have := n.names
	n.names = nil
	if unsought == 0 && len(n.fields) <= manyFields {
		return
	}
	made := &names{some: unsought > 0}
	switch {
	case len(n.fields)-unsought <= manyFields:
	case !made.some && have != nil && have.index != nil:
		made.index = have.index // the index lacks only the field that was added last
	default:
		made.index = make(map[string]int32, len(n.fields)-unsought)
	}
	for i := range n.fields {
		if z.worked() {
			return
		}
		f := &n.fields[i]
		switch {
		case !f.sought(z.kind):
		case made.index != nil:
			made.index[f.name] = int32(i)
		default:
			made.sought = append(made.sought, int32(i))
		}
	}
	n.names = made
}

// clip frees the unused capacity of many fields.
func (n *node) clip() {
	if len(n.fields) > manyFields && cap(n.fields) > len(n.fields) {
		n.fields = append(make([]field, 0, len(n.fields)), n.fields...)
	}
}

// soughtFields returns the number of fields that a document is searched for.
func (n *node) soughtFields() int {
	switch {
	case n.names == nil || !n.names.some:
		return len(n.fields)
	case n.names.index != nil:
		return len(n.names.index)
	default:
		return len(n.names.sought)
	}
}

func (n *node) find(key []byte) int {
	switch {
	case n.names == nil:
		for i := range n.fields {
			if n.fields[i].name == string(key) {
				return i
			}
		}
	case n.names.index != nil:
		if i, ok := n.names.index[string(key)]; ok {
			return int(i)
		}
	default:
		for _, i := range n.names.sought {
			if n.fields[i].name == string(key) {
				return int(i)
			}
		}
	}
	return -1
}

// plain appends the projection of doc for a tree without computed fields.
func (n *node) plain(dst []byte, doc bsonx.Doc, k kind) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	left := n.kept
	offset := 4
	for it := doc.Iter(); it.Next(); {
		key, v := it.Key(), it.Value()
		raw := doc[offset : offset+len(key)+len(v.Data)+2]
		offset += len(raw)
		i := n.find(key)
		switch {
		case i < 0:
			if k != inclusion {
				dst = append(dst, raw...)
			}
		case n.fields[i].action == keep:
			dst = append(dst, raw...)
			if left--; left == 0 && k == inclusion && !n.branches {
				return endDoc(dst, start)
			}
		case n.fields[i].action == descend:
			dst = n.fields[i].branch.plainField(dst, raw[:len(key)+2], v, k)
		}
	}
	return endDoc(dst, start)
}

// plainField appends a field with its projected value. head is the field's type and name.
func (n *node) plainField(dst, head []byte, v bsonx.Value, k kind) []byte {
	switch v.Type {
	case bsonx.TypeDocument:
		return n.plain(append(dst, head...), v.Doc(), k)
	case bsonx.TypeArray:
		return n.plainArray(append(dst, head...), v.Doc(), k)
	default:
	}
	if k == inclusion {
		return dst
	}
	return append(append(dst, head...), v.Data...)
}

// plainArray projects each element. An inclusion drops elements that are not documents or arrays.
func (n *node) plainArray(dst []byte, array bsonx.Doc, k kind) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	next := 0
	for it := array.Iter(); it.Next(); {
		v := it.Value()
		nested := v.Type == bsonx.TypeDocument || v.Type == bsonx.TypeArray
		if !nested && k == inclusion {
			continue
		}
		dst = appendElemHead(dst, v.Type, next)
		next++
		switch v.Type {
		case bsonx.TypeDocument:
			dst = n.plain(dst, v.Doc(), k)
		case bsonx.TypeArray:
			dst = n.plainArray(dst, v.Doc(), k)
		default:
			dst = append(dst, v.Data...)
		}
	}
	return endDoc(dst, start)
}

// document appends the projection of doc, with computed fields.
func (n *node) document(dst []byte, doc bsonx.Doc, k kind, ctx *expr.Context) ([]byte, error) {
	if !n.computes {
		return n.plain(dst, doc, k), nil
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	var done doneSet
	var err error
	left := n.soughtFields()
	for it := doc.Iter(); (left > 0 || k != inclusion) && it.Next(); {
		i := n.find(it.Key())
		if i < 0 {
			if k != inclusion {
				dst = appendField(dst, it.Elem())
			}
			continue
		}
		left--
		if dst, err = n.existing(dst, i, it.Elem(), k, ctx, &done); err != nil {
			return dst, err
		}
	}
	for i := range n.fields {
		if done.has(i) {
			continue
		}
		if dst, err = n.fields[i].absent(dst, ctx); err != nil {
			return dst, err
		}
	}
	return endDoc(dst, start), nil
}

// existing appends the projection of e, a field of the document that the specification names as
// field i.
func (n *node) existing(dst []byte, i int, e bsonx.Elem, k kind, ctx *expr.Context, done *doneSet) ([]byte, error) {
	f := &n.fields[i]
	switch f.action {
	case keep:
		return appendField(dst, e), nil
	case compute:
		done.add(i)
		return f.absent(dst, ctx)
	case descend:
		done.add(i)
		return f.branch.field(dst, e, k, ctx)
	default:
		return dst, nil
	}
}

// absent appends the computed value of the field, or a document of the computed fields below it. It
// appends nothing for other fields. It does not use the value that the document has.
func (f *field) absent(dst []byte, ctx *expr.Context) ([]byte, error) {
	switch {
	case f.action == compute:
		v, err := f.value.Eval(ctx)
		if err != nil {
			return dst, err
		}
		if v.IsMissing() {
			return dst, ctx.Built(0)
		}
		dst = append(dst, byte(v.Type))
		dst = append(append(dst, f.name...), 0)
		dst = append(dst, v.Data...)
		ctx.Rewind()
		return dst, ctx.Built(2 + len(f.name) + len(v.Data))
	case f.action == descend && f.branch.computes:
		dst = append(dst, byte(bsonx.TypeDocument))
		dst = append(append(dst, f.name...), 0)
		return f.branch.onlyComputed(dst, ctx)
	}
	return dst, nil
}

// onlyComputed appends a document that consists of the computed fields.
func (n *node) onlyComputed(dst []byte, ctx *expr.Context) ([]byte, error) {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	var err error
	for i := range n.fields {
		if dst, err = n.fields[i].absent(dst, ctx); err != nil {
			return dst, err
		}
	}
	return endDoc(dst, start), nil
}

func (n *node) field(dst []byte, e bsonx.Elem, k kind, ctx *expr.Context) ([]byte, error) {
	t := e.Value.Type
	switch {
	case t == bsonx.TypeDocument || t == bsonx.TypeArray:
	case n.computes:
		t = bsonx.TypeDocument
	case k == inclusion:
		return dst, nil
	default:
		return appendField(dst, e), nil
	}
	dst = append(dst, byte(t))
	dst = append(append(dst, e.Key...), 0)
	return n.value(dst, e.Value, k, ctx)
}

// value appends the projection of a document or array, or the computed document that replaces a
// scalar.
func (n *node) value(dst []byte, v bsonx.Value, k kind, ctx *expr.Context) ([]byte, error) {
	switch v.Type {
	case bsonx.TypeDocument:
		return n.document(dst, v.Doc(), k, ctx)
	case bsonx.TypeArray:
		return n.array(dst, v.Doc(), k, ctx)
	default:
		return n.onlyComputed(dst, ctx)
	}
}

func (n *node) array(dst []byte, array bsonx.Doc, k kind, ctx *expr.Context) ([]byte, error) {
	if !n.computes {
		return n.plainArray(dst, array, k), nil
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	next := 0
	var err error
	for it := array.Iter(); it.Next(); next++ {
		t := bsonx.TypeDocument
		if it.Value().Type == bsonx.TypeArray {
			t = bsonx.TypeArray
		}
		dst = appendElemHead(dst, t, next)
		if dst, err = n.value(dst, it.Value(), k, ctx); err != nil {
			return dst, err
		}
	}
	return endDoc(dst, start), nil
}

// included appends the paths of the leaves that are kept.
func (n *node) included(paths []string, prefix string) []string {
	for i := range n.fields {
		f := &n.fields[i]
		switch f.action {
		case keep:
			paths = append(paths, prefix+f.name)
		case descend:
			paths = f.branch.included(paths, prefix+f.name+".")
		default:
		}
	}
	return paths
}

// expressions appends the expressions of the computed fields.
func (n *node) expressions(list []expr.Expr) []expr.Expr {
	for i := range n.fields {
		f := &n.fields[i]
		switch f.action {
		case compute:
			list = append(list, f.value)
		case descend:
			list = f.branch.expressions(list)
		default:
		}
	}
	return list
}

func (n *node) depend(deps *expr.Dependencies) {
	for _, e := range n.expressions(nil) {
		deps.Depend(e)
	}
}

func appendField(dst []byte, e bsonx.Elem) []byte {
	dst = append(dst, byte(e.Value.Type))
	dst = append(append(dst, e.Key...), 0)
	return append(dst, e.Value.Data...)
}

func endDoc(dst []byte, start int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

// doneSet is a set of field positions of a node. The first 64 positions need no allocation.
type doneSet struct {
	low  uint64
	high map[int]bool
}

func (s *doneSet) add(i int) {
	if i < 64 {
		s.low |= 1 << i
		return
	}
	if s.high == nil {
		s.high = map[int]bool{}
	}
	s.high[i] = true
}

func (s *doneSet) has(i int) bool {
	if i < 64 {
		return s.low&(1<<i) != 0
	}
	return s.high[i]
}
