package timeseries

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// The _id of a bucket:
//
//	window start, seconds, big endian (4 bytes) | hash of meta value and window (5) | sequence (3)
//
// The head of a window has sequence 0, and its bodies have 1, 2 and so on. If another window or
// meta value already uses a hash, the next attempt gives another hash.
const (
	sequenceAt = 9
	// MaxSequence is the last sequence of a body.
	MaxSequence = 1<<24 - 1
)

// WindowStart returns the beginning of a time's window, in seconds.
func (o *Options) WindowStart(millis int64) int64 {
	return floorDiv(floorDiv(millis, 1000), o.Span) * o.Span
}

// clamp limits a time in seconds to the range of an ObjectId.
func clamp(seconds int64) uint32 { return uint32(min(max(seconds, 0), math.MaxUint32)) }

// ID returns the _id of the head of a window for an attempt.
func ID(start int64, meta bsonx.Value, attempt int) [12]byte {
	h := fnv.New64a()
	var head [17]byte
	binary.BigEndian.PutUint64(head[:], uint64(start))
	binary.BigEndian.PutUint64(head[8:], uint64(attempt))
	head[16] = byte(meta.Type)
	_, _ = h.Write(head[:]) // never fails
	_, _ = h.Write(meta.Data)
	sum := h.Sum64()
	var id [12]byte
	binary.BigEndian.PutUint32(id[:], clamp(start))
	sum ^= sum >> 29
	for i := range 5 {
		id[4+i] = byte(sum >> (8 * i))
	}
	return id
}

// WithSequence returns the _id of a body of the same window.
func WithSequence(id [12]byte, n int) [12]byte {
	id[sequenceAt], id[sequenceAt+1], id[sequenceAt+2] = byte(n>>16), byte(n>>8), byte(n)
	return id
}

// SequenceOf returns the sequence in an _id.
func SequenceOf(id [12]byte) int {
	return int(id[sequenceAt])<<16 | int(id[sequenceAt+1])<<8 | int(id[sequenceAt+2])
}

// IDBound returns an _id with a time. All other bytes are zero or, if last is true, 0xFF.
func IDBound(seconds int64, last bool) bsonx.Value {
	var id [12]byte
	binary.BigEndian.PutUint32(id[:], clamp(seconds))
	if last {
		for i := 4; i < len(id); i++ {
			id[i] = 0xFF
		}
	}
	return bsonx.ObjectID(id)
}

// normalize returns a meta value with the fields of its documents sorted by name.
func normalize(v bsonx.Value) bsonx.Value {
	switch v.Type {
	case bsonx.TypeDocument:
		fields := make([]bsonx.Elem, 0, 8)
		sorted := true
		for it := v.Doc().Iter(); it.Next(); {
			e := it.Elem()
			sorted = sorted && (len(fields) == 0 ||
				string(fields[len(fields)-1].Key) <= string(e.Key)) && !nested(e.Value)
			fields = append(fields, e)
		}
		if sorted {
			return v
		}
		slices.SortStableFunc(fields, func(a, b bsonx.Elem) int { return slices.Compare(a.Key, b.Key) })
		b := bsonx.NewBuilder(make([]byte, 0, len(v.Data)))
		b.StartDoc()
		for _, f := range fields {
			b.ValueBytes(f.Key, normalize(f.Value))
		}
		b.End()
		return bsonx.Document(b.Bytes())
	case bsonx.TypeArray:
		b := bsonx.NewBuilder(make([]byte, 0, len(v.Data)))
		b.StartArray()
		for it := v.Doc().Iter(); it.Next(); {
			b.Elem(normalize(it.Value()))
		}
		b.End()
		return bsonx.Array(b.Bytes())
	default:
		return v
	}
}

func nested(v bsonx.Value) bool { return v.Type == bsonx.TypeDocument || v.Type == bsonx.TypeArray }
