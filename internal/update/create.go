package update

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// appender collects the new elements to append to a container, which is a document or array. The
// container may also be a scalar, to which nothing can be added.
type appender struct {
	container place
	depth     int // the number of names in the path of the container
	isArray   bool
	count     int // the number of array elements, including the new ones
	data      []byte
}

// viable reports whether the container can have an element with the name of c.
func (t *appender) viable(c child) bool {
	if t.isArray {
		return c.index >= 0
	}
	return t.container.value.Type == bsonx.TypeDocument
}

// create applies the operators at and below the child c, which does not exist in the container.
func (a *applier) create(t *appender, c child) error {
	v, ok, err := a.build(c.node, t, c)
	if err != nil || !ok {
		return err
	}
	if !t.isArray {
		t.data = appendElem(t.data, c.name, v)
		return nil
	}
	if c.index < t.count { // two names of the same index, such as "1" and "01"
		return conflict(strings.Join(a.path, "."), strings.Join(a.path, "."))
	}
	if c.index > t.count+limits.ArrayPadding {
		return mongoerr.New(mongoerr.CannotBackfillArray, "can't backfill more than %d elements", limits.ArrayPadding)
	}
	for ; t.count < c.index; t.count++ {
		t.data = appendElem(t.data, bsonx.IndexKey(t.count), bsonx.Null)
	}
	t.data = appendElem(t.data, bsonx.IndexKey(t.count), v)
	t.count++
	return nil
}

// build returns the value that a node creates at a path that does not exist, or false if it creates
// nothing. t is the last existing container on the path, and first is the first missing name in it.
func (a *applier) build(n node, t *appender, first child) (bsonx.Value, bool, error) {
	switch n := n.(type) {
	case *leaf:
		return a.buildLeaf(n, t, first)
	case *arrayNode:
		return bsonx.Value{}, false, mongoerr.New(mongoerr.BadValue,
			"The path '%s' must exist in the document in order to apply array updates.", strings.Join(a.path, "."))
	case *objectNode:
		return a.buildObject(n, t, first)
	}
	return bsonx.Value{}, false, nil
}

func (a *applier) buildObject(n *objectNode, t *appender, first child) (bsonx.Value, bool, error) {
	children, err := n.with(&a.env)
	if err != nil {
		return bsonx.Value{}, false, err
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	made := false
	for _, c := range children {
		a.path = append(a.path, c.name)
		v, ok, err := a.build(c.node, t, first)
		if err != nil {
			return bsonx.Value{}, false, err
		}
		if ok {
			b.Value(c.name, v)
			made = true
		}
		a.path = a.path[:len(a.path)-1]
	}
	b.End()
	return bsonx.Document(b.Bytes()), made, nil
}

func (a *applier) buildLeaf(l *leaf, t *appender, first child) (bsonx.Value, bool, error) {
	none := bsonx.Value{}
	if l.insertOnly && !a.env.Insert {
		return none, false, nil
	}
	v, ok, err := l.op.missing(a)
	if err != nil {
		return none, false, err
	}
	if !ok {
		if !l.op.tolerant() && !t.viable(first) {
			return none, false, mongoerr.New(mongoerr.PathNotViable, "Cannot use the part (%s) of (%s) to traverse the element ({%s: %s})",
				first.name, strings.Join(a.path, "."), a.containerName(first), shell(t.container.value))
		}
		return none, false, nil
	}
	if !t.viable(first) {
		return none, false, mongoerr.New(mongoerr.PathNotViable, "Cannot create field '%s' in element {%s: %s}",
			first.name, a.containerName(first), shell(t.container.value))
	}
	if l.onID && a.hasID {
		return none, false, a.grownID(t, v)
	}
	if l.dollar && !a.env.Insert {
		return none, false, dollarError(a.path[0], a.path[0])
	}
	if len(a.path) > limits.StoredDepth {
		return none, false, tooDeep()
	}
	if err := checkNesting(v, len(a.path)); err != nil {
		return none, false, err
	}
	a.record(Updated, v)
	return v, true, nil
}

// grownID returns the error for adding a value v inside _id, at the current path. The error shows
// the container with the value.
func (a *applier) grownID(t *appender, v bsonx.Value) error {
	if t.depth == 0 || t.isArray {
		return a.immutable()
	}
	container, made := a.path[:t.depth], a.path[t.depth:]
	for i := len(made) - 1; i > 0; i-- {
		v = bsonx.Document(bsonx.NewDoc(made[i], v))
	}
	return mongoerr.New(mongoerr.ImmutableField, "Updating the path '%s' to %s: %s would modify the immutable field '_id'",
		strings.Join(container, "."), container[t.depth-1],
		shell(bsonx.Document(t.container.value.Doc().With(made[0], v))))
}

// containerName returns the name of the scalar that the path cannot enter.
func (a *applier) containerName(first child) string {
	for i := len(a.path) - 1; i > 0; i-- {
		if a.path[i] == first.name {
			return a.path[i-1]
		}
	}
	return ""
}
