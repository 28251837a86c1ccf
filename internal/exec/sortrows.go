package exec

import (
	"encoding/binary"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/extsort"
)

// sortRows decides what a sort keeps of a row, and makes rows of that again.
type sortRows struct {
	scored  bool      // the score of a row is kept after its record key
	located bool      // the distance of a row and its place are kept there too
	shape   Projector // what is kept of a row's document; nil for all of it
	// indexKeys reads the index key of a row. The key is kept before the document; nil keeps no
	// keys.
	indexKeys *EntryFields

	head   []byte // the head of the row that is added, where it is not the record key
	shaped []byte // its document, where there is a shape
}

// parts returns what is kept of a row: its record key with the score and the place, and its
// document. They are valid until the following call.
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

// read undoes parts. The row refers to the entry's memory.
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

// dropScratch frees what adding a large row has left.
func (r *sortRows) dropScratch() {
	if cap(r.shaped) > maxScratch {
		r.shaped = nil
	}
}

// document returns what is kept of the row's document.
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

// noIndexKey stands for the index key of a row that has none.
var noIndexKey = [4]byte{}

// appendKey appends the index key of a row, as a document.
func (e *EntryFields) appendKey(dst []byte, row *Row) ([]byte, error) {
	if row.Key == nil {
		return append(dst, noIndexKey[:]...), nil
	}
	return e.Document(dst, row)
}

// splitIndexKey undoes appendKey.
func splitIndexKey(b []byte) (key, rest bsonx.Doc) {
	n := binary.LittleEndian.Uint32(b)
	if n == 0 {
		return nil, b[len(noIndexKey):]
	}
	return b[:n:n], b[n:]
}

// scoreSize is how many bytes appendScore appends.
const scoreSize = 9

// placeSize is how many bytes appendPlace appends behind the place itself.
const placeSize = 14

// appendPlace appends what a search by distance found out about a row:
//
//	place | its type | its length (4 bytes) | distance (8 bytes) | whether it was found by distance
func appendPlace(dst []byte, row *Row) []byte {
	has := byte(0)
	if row.Located {
		has = 1
	}
	dst = append(append(dst, row.Place.Data...), byte(row.Place.Type))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(row.Place.Data))) //nolint:gosec // a document's size
	return append(binary.LittleEndian.AppendUint64(dst, math.Float64bits(row.Distance)), has)
}

// splitPlace undoes appendPlace.
func splitPlace(row *Row, b []byte) (rest []byte) {
	rest, tail := b[:len(b)-placeSize], b[len(b)-placeSize:]
	n := len(rest) - int(binary.LittleEndian.Uint32(tail[1:]))
	row.Place = bsonx.Value{Type: bsonx.Type(tail[0]), Data: rest[n:]}
	row.Distance = math.Float64frombits(binary.LittleEndian.Uint64(tail[5:]))
	row.Located = tail[placeSize-1] == 1
	return rest[:n:n]
}

// appendScore appends the score of a row, and whether it has one.
func appendScore(dst []byte, row *Row) []byte {
	has := byte(0)
	if row.Scored {
		has = 1
	}
	return append(binary.LittleEndian.AppendUint64(dst, math.Float64bits(row.Score)), has)
}

// splitScore undoes appendScore.
func splitScore(b []byte) (rest []byte, score float64, has bool) {
	rest, tail := b[:len(b)-scoreSize], b[len(b)-scoreSize:]
	return rest, math.Float64frombits(binary.LittleEndian.Uint64(tail)), tail[scoreSize-1] == 1
}
