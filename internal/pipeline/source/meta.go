package source

import (
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// MetaSource is a source whose documents have metadata, which $meta reads.
type MetaSource interface {
	// Meta returns the metadata of the document that Next returned last; nil for none. It is good until the next call of Next.
	Meta() *expr.Meta
}

// MetaOf returns the metadata of the document that a source returned last, or nil.
func MetaOf(src Source) *expr.Meta {
	if m, ok := src.(MetaSource); ok {
		return m.Meta()
	}
	return nil
}

// Meta implements MetaSource for stages whose documents come from one of the input each.
func (i *Input) Meta() *expr.Meta { return MetaOf(i.Src) }

// WithoutScore returns the metadata of a document that was made of many documents of src. After a
// text search its score is missing, which is no error.
func WithoutScore(src Source) *expr.Meta {
	if m := MetaOf(src); m != nil && m.Searched {
		return &expr.Meta{Searched: true}
	}
	return nil
}

// Meta implements MetaSource.
func (s *EmptyDocs) Meta() *expr.Meta { return &expr.Meta{Searched: s.Searched} }

// KeptMeta is the metadata of a document that waits in a stage. It is written behind the end of the
// document: score and distance of 8 bytes each, the point, the index key, the sort key, the record id
// and the random value, and a byte that says which of them are there. Where there is none, nothing is
// written.
type KeptMeta struct {
	room []byte
	// Noted is the metadata of the document that was split last.
	Noted expr.Meta
}

// The bits of that byte.
const (
	keptScore = 1 << iota
	keptDistance
	keptPoint
	keptPointArray // the point is an array
	keptIndexKey
	keptSortKey
	keptRecordID // in a document, which tells its type
	keptRandVal
)

// DoubleBytes is the length of a double.
const DoubleBytes = 8

// Join returns a document with its metadata behind it, if it has any.
func (k *KeptMeta) Join(doc bsonx.Doc, src Source) []byte { return k.JoinMeta(doc, MetaOf(src)) }

// JoinMeta is join for metadata that may be nil.
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

// planned reports whether there is metadata that a plan makes for any query, or $sample.
func planned(m *expr.Meta) bool {
	return !m.IndexKey.IsMissing() || !m.SortKey.IsMissing() || !m.RecordID.IsMissing() || !m.RandVal.IsMissing()
}

// Meta implements MetaSource for who embeds it.
func (k *KeptMeta) Meta() *expr.Meta {
	if !k.Noted.Searched && k.Noted.GeoDistance.IsMissing() && !planned(&k.Noted) {
		return nil
	}
	return &k.Noted
}

// docLen is the length of the document at the beginning of b.
func docLen(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }

// Split takes the metadata off, and notes it.
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

// read notes what stands behind a document.
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
