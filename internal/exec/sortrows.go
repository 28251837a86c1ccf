package exec

import (
	"encoding/binary"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/extsort"
)

// sortRows converts rows to the entries of a sorter and back. It decides which parts of a row a
// sort keeps.
type sortRows struct {
	scored  bool      // keep the score of a row, after its record key
	located bool      // keep the distance and place of a row, after its record key and score
	shape   Projector // shapes the kept document; nil keeps it unchanged
	// indexKeys decodes the index key of a row. The key is kept before the document. If indexKeys
	// is nil, index keys are not kept.
	indexKeys *EntryFields

	head   []byte // buffer: head of the row being added, if it is more than the record key
	shaped []byte // buffer: document of the row being added, if it is changed
}

// parts returns the kept parts of a row. head is the record key with the score and the place, and
// doc is the document. They are valid until the next call.
func (r *sortRows) parts(row *Row) (head, doc []byte, err error) {
	head = row.RecordKey
	if r.scored || r.located {
		head = append(r.head[:0], head...)
		if r.scored {
			head = appendScore(head, row)
		}
		if r.located {
			head = appendPlace(head, row)
		}
		r.head = head
	}
	doc, err = r.document(row)
	return head, doc, err
}

// read restores a row from an entry that parts has built. The row refers to the entry's memory.
func (r *sortRows) read(row *Row, e *extsort.Entry) {
	row.SortKey, row.RecordKey, row.Doc = e.Key, e.Head, e.Body
	if r.located {
		row.RecordKey = splitPlace(row, row.RecordKey)
	}
	if r.scored {
		row.RecordKey, row.Score, row.Scored = splitScore(row.RecordKey)
	}
	if r.indexKeys != nil {
		row.IndexKey, row.Doc = splitIndexKey(row.Doc)
	}
}

// dropScratch frees the buffer if a large row has grown it.
func (r *sortRows) dropScratch() {
	if cap(r.shaped) > maxScratch {
		r.shaped = nil
	}
}

// document returns the kept form of the row's document, after its index key if index keys are kept.
func (r *sortRows) document(row *Row) (doc []byte, err error) {
	r.shaped = r.shaped[:0]
	if r.indexKeys != nil {
		if r.shaped, err = r.indexKeys.appendKey(r.shaped, row); err != nil {
			return nil, err
		}
	}
	switch {
	case r.shape != nil:
		r.shaped, err = r.shape(r.shaped, row)
		return r.shaped, err
	case r.indexKeys != nil:
		r.shaped = append(r.shaped, row.Doc...)
		return r.shaped, nil
	}
	return row.Doc, nil
}

// noIndexKey stands for the index key of a row that does not have one.
var noIndexKey = [4]byte{}

// appendKey appends the index key of a row as a document.
func (e *EntryFields) appendKey(dst []byte, row *Row) ([]byte, error) {
	if row.Key == nil {
		return append(dst, noIndexKey[:]...), nil
	}
	return e.Document(dst, row)
}

// splitIndexKey separates the index key that appendKey has appended from the document after it. The
// key is nil if the row did not have one.
func splitIndexKey(b []byte) (key, rest bsonx.Doc) {
	n := binary.LittleEndian.Uint32(b)
	if n == 0 {
		return nil, b[len(noIndexKey):]
	}
	return b[:n:n], b[n:]
}

// scoreSize is the number of bytes that appendScore appends.
const scoreSize = 9

// placeSize is the number of bytes that appendPlace appends after the data of the place.
const placeSize = 14

// appendPlace appends the result of a search by distance to dst:
//
//	place | its type | its length (4 bytes) | distance (8 bytes) | Located (1 byte)
func appendPlace(dst []byte, row *Row) []byte {
	has := byte(0)
	if row.Located {
		has = 1
	}
	dst = append(append(dst, row.Place.Data...), byte(row.Place.Type))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(row.Place.Data))) //nolint:gosec // a document's size
	return append(binary.LittleEndian.AppendUint64(dst, math.Float64bits(row.Distance)), has)
}

// splitPlace restores the fields that appendPlace has appended, and returns the bytes before them.
func splitPlace(row *Row, b []byte) (rest []byte) {
	rest, tail := b[:len(b)-placeSize], b[len(b)-placeSize:]
	n := len(rest) - int(binary.LittleEndian.Uint32(tail[1:]))
	row.Place = bsonx.Value{Type: bsonx.Type(tail[0]), Data: rest[n:]}
	row.Distance = math.Float64frombits(binary.LittleEndian.Uint64(tail[5:]))
	row.Located = tail[placeSize-1] == 1
	return rest[:n:n]
}

// appendScore appends the score of a row (8 bytes) and whether it has one (1 byte).
func appendScore(dst []byte, row *Row) []byte {
	has := byte(0)
	if row.Scored {
		has = 1
	}
	return append(binary.LittleEndian.AppendUint64(dst, math.Float64bits(row.Score)), has)
}

// splitScore returns the score that appendScore has appended, and the bytes before it.
func splitScore(b []byte) (rest []byte, score float64, has bool) {
	rest, tail := b[:len(b)-scoreSize], b[len(b)-scoreSize:]
	return rest, math.Float64frombits(binary.LittleEndian.Uint64(tail)), tail[scoreSize-1] == 1
}
