package update

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// PrepareInsert returns a document as an insert stores it: checked, with _id first (made by newID where it
// is absent), and zero timestamps replaced unless timestamp is nil. It returns doc itself where nothing
// changes.
func PrepareInsert(doc bsonx.Doc, newID func() bsonx.Value, timestamp func() (t, i uint32)) (bsonx.Doc, error) {
	if len(doc) > MaxDocumentSize {
		return nil, mongoerr.New(mongoerr.BadValue, "object to insert too large. size in bytes: %d, max size: %d", len(doc), MaxDocumentSize)
	}
	var id bsonx.Value
	first, n := false, 0
	for it := doc.Iter(); it.Next(); n++ {
		key, v := it.Key(), it.Value()
		if checkNesting(v, 1) != nil {
			return nil, mongoerr.New(mongoerr.Overflow, "cannot insert document because it exceeds %d levels of nesting", MaxNesting)
		}
		if string(key) != "_id" {
			continue
		}
		if !id.IsMissing() {
			return nil, mongoerr.New(mongoerr.BadValue, "can't have multiple _id fields in one document")
		}
		if err := checkID(v); err != nil {
			return nil, err
		}
		id, first = v, n == 0
	}
	if timestamp != nil {
		doc = FixTimestamps(doc, timestamp)
	}
	if first {
		return doc, nil
	}
	if id.IsMissing() {
		id = newID()
	}
	out := withID(id, doc)
	if len(out) > MaxDocumentSize {
		return nil, mongoerr.New(mongoerr.BadValue, "object to insert too large. size in bytes: %d, max size: %d", len(out), MaxDocumentSize)
	}
	return out, nil
}

// IDGenerator makes ObjectIds: seconds, five random bytes of the process, a counter.
type IDGenerator struct {
	process [5]byte
	counter atomic.Uint32
}

// NewIDGenerator returns a generator with fresh random bytes.
func NewIDGenerator() *IDGenerator {
	g := &IDGenerator{}
	var seed [4]byte
	_, _ = rand.Read(g.process[:]) // never fails: see crypto/rand
	_, _ = rand.Read(seed[:])
	g.counter.Store(binary.LittleEndian.Uint32(seed[:]))
	return g
}

// New returns the next ObjectId.
func (g *IDGenerator) New(now time.Time) bsonx.Value {
	var id [12]byte
	binary.BigEndian.PutUint32(id[:], uint32(now.Unix()))
	copy(id[4:], g.process[:])
	n := g.counter.Add(1)
	id[9], id[10], id[11] = byte(n>>16), byte(n>>8), byte(n)
	return bsonx.ObjectID(id)
}
