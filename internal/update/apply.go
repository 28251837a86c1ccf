package update

import (
	"encoding/binary"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// applier is the state of one application of an operator document. It walks the trie and the
// document together, and collects edits.
type applier struct {
	env   Env
	doc   bsonx.Doc
	hasID bool
	edits []edit
	locs  []place  // a stack of the positions of the children of the objectNodes being applied
	path  []string // the names from the root to the current node
	buf   []byte   // memory for small new values
	wrap  []byte   // the document in which an array filter sees an element
	meter interrupt.Meter
}

// did adds work to the meter. It fails if the operation was interrupted.
func (a *applier) did(work int) error { return a.meter.Did(work, a.env.Running) }

// Limits for the memory that an unused applier keeps, in entries and in bytes.
const (
	maxKept      = 64
	maxKeptBytes = 4096
)

// edit replaces doc[at:end] by data. Edits do not overlap.
type edit struct {
	at, end int
	data    []byte
}

// place is the position of an element in the document.
type place struct {
	elem    int // the offset of its type byte
	payload int // the offset of its value
	value   bsonx.Value
}

func (p place) end() int { return p.payload + len(p.value.Data) }

// bytesOf contains every byte value at its own index. An edit that changes the type of an element
// refers to one byte of this array, so it allocates nothing.
var bytesOf = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
	}
	return t
}()

// run applies the trie to the document.
func (a *applier) run(root *objectNode) error {
	_, err := a.object(root, place{value: bsonx.Document(a.doc)})
	return err
}

// node applies a node to an existing element. It returns the number of bytes by which the element
// grows.
func (a *applier) node(n node, at place, inArray bool) (int, error) {
	switch n := n.(type) {
	case *leaf:
		return a.leaf(n, at, inArray)
	case *objectNode:
		return a.object(n, at)
	case *arrayNode:
		return a.array(n, at)
	}
	return 0, nil
}

// object applies the children of a node to the value at a place, in order. It returns the number of
// bytes by which the value grows.
func (a *applier) object(n *objectNode, at place) (int, error) {
	children, err := n.with(&a.env)
	if err != nil {
		return 0, err
	}
	base := len(a.locs)
	for range children {
		a.locs = append(a.locs, place{})
	}
	count, err := a.locate(children, base, at)
	if err != nil {
		return 0, err
	}
	isArray := at.value.Type == bsonx.TypeArray
	tail := appender{container: at, depth: len(a.path), isArray: isArray, count: count}
	delta := 0
	for i, c := range children {
		if err := a.did(interrupt.Step); err != nil {
			return 0, err
		}
		a.path = append(a.path, c.name)
		if loc := a.locs[base+i]; !loc.value.IsMissing() {
			var d int
			d, err = a.node(c.node, loc, isArray)
			delta += d
		} else {
			err = a.create(&tail, c)
		}
		if err != nil {
			return 0, err
		}
		a.path = a.path[:len(a.path)-1]
	}
	a.locs = a.locs[:base]
	if len(tail.data) > 0 {
		end := at.end() - 1
		a.edits = append(a.edits, edit{end, end, tail.data})
		delta += len(tail.data)
	}
	a.resize(at, delta)
	return delta, nil
}

// locate finds the existing children of a place in one pass. It returns the number of elements if
// the place is an array.
func (a *applier) locate(children []child, base int, at place) (int, error) {
	if at.value.Type == bsonx.TypeArray {
		return a.locateElements(children, base, at)
	}
	if at.value.Type != bsonx.TypeDocument {
		return 0, nil
	}
	left := len(children)
	off := at.payload + 4
	if left == 1 {
		a.locateOne(children[0].name, &a.locs[base], at)
		return 0, nil
	}
	if left > fewChildren {
		return 0, a.locateMany(children, base, at)
	}
	for it := at.value.Doc().Iter(); left > 0 && it.Next(); {
		key, v := it.Key(), it.Value()
		payload := off + len(key) + 2
		for i := range children {
			if string(key) == children[i].name {
				// If several fields have the same name, the first one counts.
				if a.locs[base+i].value.IsMissing() {
					a.locs[base+i] = place{off, payload, v}
					left--
				}
				break
			}
		}
		off = payload + len(v.Data)
	}
	return 0, nil
}

// fewChildren is the number of children up to which each field is compared with all of them.
const fewChildren = 16

// locateMany is locate for many children. It finds them with a map of their names.
func (a *applier) locateMany(children []child, base int, at place) error {
	byName := make(map[string]int, len(children))
	for i, c := range children {
		byName[c.name] = base + i
	}
	off := at.payload + 4
	for it := at.value.Doc().Iter(); it.Next(); {
		key, v := it.Key(), it.Value()
		if err := a.did(interrupt.Step + len(key)); err != nil {
			return err
		}
		payload := off + len(key) + 2
		if i, ok := byName[string(key)]; ok && a.locs[i].value.IsMissing() {
			a.locs[i] = place{off, payload, v}
		}
		off = payload + len(v.Data)
	}
	return nil
}

// locateOne is locate for a single child, the most frequent case.
func (a *applier) locateOne(name string, loc *place, at place) {
	off := at.payload + 4
	for it := at.value.Doc().Iter(); it.Next(); {
		key := it.Key()
		if string(key) == name {
			*loc = place{off, off + len(key) + 2, it.Value()}
			return
		}
		off += len(key) + 2 + len(it.Value().Data)
	}
}

func (a *applier) locateElements(children []child, base int, at place) (int, error) {
	if len(children) > fewChildren {
		return a.locateManyElements(children, base, at)
	}
	count := 0
	off := at.payload + 4
	for it := at.value.Doc().Iter(); it.Next(); count++ {
		v := it.Value()
		payload := off + len(it.Key()) + 2
		found := false
		for i := range children {
			if children[i].index != count {
				continue
			}
			if found { // two names of the same index, such as "1" and "01"
				return 0, conflict(a.pathTo(children[i].name), a.pathTo(children[i].name))
			}
			found = true
			a.locs[base+i] = place{off, payload, v}
		}
		off = payload + len(v.Data)
	}
	return count, nil
}

// locateManyElements is locateElements for many children. It finds them with a map of their
// indexes.
func (a *applier) locateManyElements(children []child, base int, at place) (int, error) {
	byIndex, twice := make(map[int]int, len(children)), map[int]int{}
	for i, c := range children {
		if _, ok := byIndex[c.index]; ok { // two names of the same index, such as "1" and "01"
			twice[c.index] = i
			continue
		}
		byIndex[c.index] = i
	}
	count := 0
	off := at.payload + 4
	for it := at.value.Doc().Iter(); it.Next(); count++ {
		v := it.Value()
		if err := a.did(interrupt.Step); err != nil {
			return 0, err
		}
		payload := off + len(it.Key()) + 2
		if i, ok := byIndex[count]; ok {
			a.locs[base+i] = place{off, payload, v}
		}
		if i, ok := twice[count]; ok {
			return 0, conflict(a.pathTo(children[i].name), a.pathTo(children[i].name))
		}
		off = payload + len(v.Data)
	}
	return count, nil
}

// resize adds an edit for the length of a document or array that grows by delta bytes.
func (a *applier) resize(at place, delta int) {
	if delta == 0 {
		return
	}
	n := len(a.buf)
	a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(len(at.value.Data)+delta))
	a.edits = append(a.edits, edit{at.payload, at.payload + 4, a.buf[n:len(a.buf):len(a.buf)]})
}

// elementWork is the work of updating one array element, in the units of interrupt.Meter.
const elementWork = 4 * interrupt.Step

// array applies the branches of a node to the elements that their filters select.
func (a *applier) array(n *arrayNode, at place) (int, error) {
	if at.value.Type != bsonx.TypeArray {
		return 0, mongoerr.New(mongoerr.BadValue, "Cannot apply array updates to non-array element %s: %s",
			a.path[len(a.path)-1], shell(at.value))
	}
	delta, off, i := 0, at.payload+4, 0
	for it := at.value.Doc().Iter(); it.Next(); i++ {
		v := it.Value()
		if err := a.did(elementWork); err != nil {
			return 0, err
		}
		loc := place{off, off + len(it.Key()) + 2, v}
		off = loc.end()
		a.path = append(a.path, bsonx.IndexKey(i))
		chosen, err := a.choose(n, v)
		if err != nil {
			return 0, err
		}
		if chosen != nil {
			d, err := a.node(chosen, loc, true)
			if err != nil {
				return 0, err
			}
			delta += d
		}
		a.path = a.path[:len(a.path)-1]
	}
	a.resize(at, delta)
	return delta, nil
}

// choose returns the node to apply to element v: the node of the branch whose filter matches, or
// the merged nodes of several such branches.
func (a *applier) choose(n *arrayNode, v bsonx.Value) (node, error) {
	var chosen node
	for _, b := range n.branches {
		if b.filter != nil {
			a.wrap = wrap(a.wrap[:0], b.identifier, v)
			matched, err := b.filter.match.Match(a.wrap)
			if err != nil {
				return nil, err
			}
			if !matched {
				continue
			}
		}
		if chosen == nil {
			chosen = b.node
			continue
		}
		var err error
		if chosen, err = merge(chosen, b.node, strings.Join(a.path, ".")); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

// wrap encodes a document with one field.
func wrap(dst []byte, key string, v bsonx.Value) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = appendElem(dst, key, v)
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst, uint32(len(dst)))
	return dst
}

// leaf applies an operator to an existing element.
func (a *applier) leaf(l *leaf, at place, inArray bool) (int, error) {
	if l.insertOnly && !a.env.Insert {
		return 0, nil
	}
	c, err := l.op.existing(a, at.value)
	if err != nil || c.kind == changeNone {
		return 0, err
	}
	if l.onID {
		return 0, a.immutable()
	}
	switch c.kind {
	case changeAppend:
		return a.appendTo(at, c)
	case changeRemove:
		if !inArray {
			a.record(Removed, bsonx.Value{})
			a.edits = append(a.edits, edit{at.elem, at.end(), nil})
			return at.elem - at.end(), nil
		}
		c.value = bsonx.Null
	case changeNone, changeSet:
	}
	if l.dollar && !a.env.Insert {
		return 0, dollarError(a.path[0], a.path[0])
	}
	if !c.shrunk {
		if err := checkNesting(c.value, len(a.path)); err != nil {
			return 0, err
		}
	}
	a.record(Updated, c.value)
	if c.value.Type != at.value.Type {
		t := c.value.Type
		a.edits = append(a.edits, edit{at.elem, at.elem + 1, bytesOf[t : int(t)+1]})
	}
	a.edits = append(a.edits, edit{at.payload, at.end(), c.value.Data})
	return len(c.value.Data) - len(at.value.Data), nil
}

// appendTo appends elements to an array.
func (a *applier) appendTo(at place, c change) (int, error) {
	if err := checkAppended(c.elems, len(a.path)+1); err != nil {
		return 0, err
	}
	if a.env.Record != nil {
		a.record(Appended, bsonx.Array(enclose(c.elems)))
	}
	end := at.end() - 1
	a.edits = append(a.edits, edit{end, end, c.elems})
	a.resize(at, len(c.elems))
	return len(c.elems), nil
}

// checkAppended checks the nesting depth of encoded elements, which are inside the given number of
// enclosing documents.
func checkAppended(elems []byte, outside int) error {
	return checkNestingOf(bsonx.Doc(enclose(elems)), outside)
}

func checkNestingOf(d bsonx.Doc, outside int) error {
	if outside > limits.StoredDepth {
		return tooDeep()
	}
	for it := d.Iter(); it.Next(); {
		if err := checkNesting(it.Value(), outside); err != nil {
			return err
		}
	}
	return nil
}

// enclose returns a document with the encoded elements.
func enclose(elems []byte) []byte {
	out := make([]byte, 4, len(elems)+5)
	out = append(append(out, elems...), 0)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	return out
}

// finish writes the new document. It sorts the edits by position; edits at the same position keep
// their order. An insertion and a replacement can have the same position: the insertion is the new
// value of a null element, which had no bytes, so it comes first.
func (a *applier) finish() (bsonx.Doc, error) {
	if len(a.edits) > 1 {
		if err := interrupt.Sort(a.edits, interrupt.Step/4, compareEdits, &a.meter, a.env.Running); err != nil {
			return nil, err
		}
	}
	size, inPlace := len(a.doc), true
	for _, e := range a.edits {
		delta := len(e.data) - (e.end - e.at)
		size += delta
		inPlace = inPlace && delta == 0
	}
	if inPlace { // all edits keep the size, as for a counter or a flag: copy once, then patch
		out := append(a.env.Buffer[:0], a.doc...)
		for _, e := range a.edits {
			copy(out[e.at:], e.data)
		}
		return out, nil
	}
	out := a.env.Buffer[:0]
	if cap(out) < size {
		out = make([]byte, 0, size)
	}
	pos := 0
	for _, e := range a.edits {
		out = append(out, a.doc[pos:e.at]...)
		out = append(out, e.data...)
		pos = e.end
	}
	return append(out, a.doc[pos:]...), nil
}

func compareEdits(x, y edit) int {
	if x.at != y.at {
		return x.at - y.at
	}
	return min(x.end-x.at, 1) - min(y.end-y.at, 1)
}

func (a *applier) immutable() error {
	return mongoerr.New(mongoerr.ImmutableField,
		"Performing an update on the path '%s' would modify the immutable field '_id'", strings.Join(a.path, "."))
}

// pathTo returns the current path with one more name.
func (a *applier) pathTo(name string) string {
	if len(a.path) == 0 {
		return name
	}
	return strings.Join(a.path, ".") + "." + name
}

// release drops borrowed memory, and buffers that are larger than an ordinary update needs.
func (a *applier) release() {
	if cap(a.edits)+cap(a.locs)+cap(a.path) > maxKept || cap(a.buf)+cap(a.wrap) > maxKeptBytes {
		*a = applier{}
		return
	}
	clear(a.edits)
	clear(a.locs[:cap(a.locs)])
	clear(a.path[:cap(a.path)])
	a.env, a.doc = Env{}, nil
	a.edits, a.locs, a.path, a.buf, a.wrap = a.edits[:0], a.locs[:0], a.path[:0], a.buf[:0], a.wrap[:0]
}
