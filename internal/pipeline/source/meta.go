package source

import (
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// MetaSource is a Source whose documents have metadata, which {$meta: …} reads.
type MetaSource interface {
	// Meta returns the metadata of the document that Next returned last, or nil. The metadata is
	// valid until the next call of Next.
	Meta() *expr.Meta
}

// MetaOf returns the metadata of the document that src returned last, or nil.
func MetaOf(src Source) *expr.Meta {
	if m, ok := src.(MetaSource); ok {
		return m.Meta()
	}
	return nil
}

// Meta implements MetaSource. It suits stages whose output documents each come from the current
// input document.
func (i *Input) Meta() *expr.Meta { return MetaOf(i.Src) }

// WithoutScore returns the metadata of a document that was computed from many documents of src.
// After a text search it has no score, and reading the score is not an error.
func WithoutScore(src Source) *expr.Meta {
	if m := MetaOf(src); m != nil && m.Searched {
		return &expr.Meta{Searched: true}
	}
	return nil
}

// Meta implements MetaSource.
func (s *EmptyDocs) Meta() *expr.Meta { return &expr.Meta{Searched: s.Searched} }

// KeptMeta stores the metadata of documents that a stage keeps. Join appends the metadata to the
// bytes of the document: score and distance with 8 bytes each, the point, the index key, the sort
// key, the record id and the random value, then a byte whose bits tell which of them are present.
// If there is no metadata, nothing is appended.
type KeptMeta struct {
	room []byte
	// Noted is the metadata of the document that was split last.
	Noted expr.Meta
}

// Bits of the last byte: which metadata is present.
const (
	keptScore = 1 << iota
	keptDistance
	keptPoint
	keptPointArray // the type of the point is array and not document
	keptIndexKey
	keptSortKey
	keptRecordID // stored in a document, which contains its type
	keptRandVal
)

// DoubleBytes is the length of a BSON double in bytes.
const DoubleBytes = 8

// Join returns doc with the metadata that src has for it appended, if any.
func (k *KeptMeta) Join(doc bsonx.Doc, src Source) []byte { return k.JoinMeta(doc, MetaOf(src)) }

// JoinMeta is Join with the metadata m, which may be nil.
func (k *KeptMeta) JoinMeta(doc bsonx.Doc, m *expr.Meta) []byte {
	if m == nil {
		return doc
	}
	k.Noted.Searched = k.Noted.Searched || m.Searched
	if m.TextScore.IsMissing() && m.GeoDistance.IsMissing() && m.GeoPoint.IsMissing() && !planned(m) {
		return doc
	}
	var has byte
	k.room = append(k.room[:0], doc...)
	keep := func(bit byte, v bsonx.Value) {
		if !v.IsMissing() {
			has, k.room = has|bit, append(k.room, v.Data...)
		}
	}
	keep(keptScore, m.TextScore)
	keep(keptDistance, m.GeoDistance)
	keep(keptPoint, m.GeoPoint)
	if m.GeoPoint.Type == bsonx.TypeArray {
		has |= keptPointArray
	}
	keep(keptIndexKey, m.IndexKey)
	keep(keptSortKey, m.SortKey)
	if !m.RecordID.IsMissing() {
		keep(keptRecordID, bsonx.Document(bsonx.NewDoc("", m.RecordID)))
	}
	keep(keptRandVal, m.RandVal)
	k.room = append(k.room, has)
	return k.room
}

// planned reports whether m contains metadata from a query plan or from $sample.
func planned(m *expr.Meta) bool {
	return !m.IndexKey.IsMissing() || !m.SortKey.IsMissing() || !m.RecordID.IsMissing() || !m.RandVal.IsMissing()
}

// Meta implements MetaSource for sources that embed KeptMeta.
func (k *KeptMeta) Meta() *expr.Meta {
	if !k.Noted.Searched && k.Noted.GeoDistance.IsMissing() && !planned(&k.Noted) {
		return nil
	}
	return &k.Noted
}

// docLen returns the length of the BSON document at the beginning of b.
func docLen(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }

// Split returns the document in b, which Join made, and stores its metadata in Noted.
func (k *KeptMeta) Split(b []byte) bsonx.Doc {
	if b == nil {
		return nil
	}
	k.Noted = expr.Meta{Searched: k.Noted.Searched}
	end := docLen(b)
	if behind := b[end:]; len(behind) > 0 {
		last := len(behind) - 1
		k.read(behind[last], behind[:last])
	}
	return bsonx.Doc(b[:end:end])
}

// read decodes the metadata b into Noted. The bits of has tell which metadata is present.
func (k *KeptMeta) read(has byte, b []byte) {
	next := func(bit byte, t bsonx.Type, n func([]byte) int) bsonx.Value {
		if has&bit == 0 {
			return bsonx.Missing
		}
		size := n(b)
		v := bsonx.Value{Type: t, Data: b[:size:size]}
		b = b[size:]
		return v
	}
	double := func([]byte) int { return DoubleBytes }
	k.Noted.TextScore = next(keptScore, bsonx.TypeDouble, double)
	k.Noted.GeoDistance = next(keptDistance, bsonx.TypeDouble, double)
	point := bsonx.TypeDocument
	if has&keptPointArray != 0 {
		point = bsonx.TypeArray
	}
	k.Noted.GeoPoint = next(keptPoint, point, docLen)
	k.Noted.IndexKey = next(keptIndexKey, bsonx.TypeDocument, docLen)
	k.Noted.SortKey = next(keptSortKey, bsonx.TypeArray, docLen)
	if id := next(keptRecordID, bsonx.TypeDocument, docLen); !id.IsMissing() {
		k.Noted.RecordID = id.Doc().First().Value
	}
	k.Noted.RandVal = next(keptRandVal, bsonx.TypeDouble, double)
}
