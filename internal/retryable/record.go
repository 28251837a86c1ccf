package retryable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Whole is the statement number for a whole transaction: its commit.
const Whole = -1

const (
	// sessionSize is the size of a Session: the UUID and the digest.
	sessionSize = 16 + 32
	prefixSize  = 1 + sessionSize
	keySize     = prefixSize + 4
	headSize    = 1 + 8 + 8 + 4
)

// Session identifies a session.
type Session [sessionSize]byte

// Kind is the kind of a statement's effect.
type Kind byte

// The kinds. The numbers are stored.
const (
	Insert       Kind = 1 // documents were inserted, one by each of Count statements
	Update       Kind = 2 // a document was changed, or inserted if Upserted is not missing
	Delete       Kind = 3
	ModifyUpdate Kind = 4 // an update by findAndModify
	ModifyDelete Kind = 5
	Commit       Kind = 6 // a transaction was committed
)

// Record describes the effect of a statement.
type Record struct {
	TxnNumber int64
	Statement int32
	// Count is the number of insertions. It is 1 for all other kinds.
	Count int32
	Kind  Kind
	// Time is the time of the statement, in milliseconds since 1970.
	Time int64
	// Upserted is the _id of a document that an update inserted.
	Upserted bsonx.Value
	// Value is the document that findAndModify returned, before its projection. It may be nil.
	Value bsonx.Doc
}

// AppendKey appends the record's key. After the first byte it has the session and the statement:
//
//	0x05 | session's UUID (16 bytes) | digest of its user (32 bytes) | statement (4 bytes, big endian, offset by 2^31)
func (r *Record) AppendKey(dst []byte, s *Session) []byte {
	dst = append(append(dst, keyspace.Retryable), s[:]...)
	return binary.BigEndian.AppendUint32(dst, uint32(r.Statement)^1<<31)
}

// AppendValue appends the value that is stored under the key.
func (r *Record) AppendValue(dst []byte) []byte {
	dst = append(dst, byte(r.Kind))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.TxnNumber))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Time))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(r.Count))
	if r.Upserted.IsMissing() && r.Value == nil {
		return dst
	}
	b := bsonx.NewBuilder(dst)
	b.StartDoc()
	b.Value("upserted", r.Upserted)
	if r.Value != nil {
		b.Doc("value", r.Value)
	}
	b.End()
	return b.Bytes()
}

// decode is the inverse of AppendKey and AppendValue. The record borrows nothing.
func decode(key, value []byte) (Record, error) {
	if len(key) != keySize || len(value) < headSize {
		return Record{}, fmt.Errorf("%w: record of a retryable write", storage.ErrCorrupt)
	}
	r := Record{
		Kind:      Kind(value[0]),
		TxnNumber: int64(binary.LittleEndian.Uint64(value[1:])),
		Time:      int64(binary.LittleEndian.Uint64(value[9:])),
		Count:     int32(binary.LittleEndian.Uint32(value[17:])),
		Statement: int32(binary.BigEndian.Uint32(key[prefixSize:]) ^ 1<<31),
	}
	if rest := value[headSize:]; len(rest) > 0 {
		doc := bsonx.Doc(rest).Clone()
		r.Upserted = doc.Lookup("upserted")
		if v := doc.Lookup("value"); !v.IsMissing() {
			r.Value = v.Doc()
		}
	}
	return r, nil
}

// History has the records of a session's newest transaction number.
type History struct {
	// TxnNumber is negative if nothing is known.
	TxnNumber int64
	// Records are in the order of their statements.
	Records []Record
}

// Committed reports whether the number belongs to a committed transaction, and not to retryable
// writes.
func (h *History) Committed() bool { return len(h.Records) > 0 && h.Records[0].Kind == Commit }

// Find returns the record of a statement, or nil.
func (h *History) Find(statement int32) *Record {
	for i := range h.Records {
		if r := &h.Records[i]; statement >= r.Statement && statement-r.Statement < r.Count {
			return r
		}
	}
	return nil
}

// Load reads the history of a session.
func Load(engine storage.Engine, s *Session) (History, error) {
	h := History{TxnNumber: -1}
	err := scan(engine, append([]byte{keyspace.Retryable}, s[:]...), func(_ []byte, r *Record) error {
		h.add(r)
		return nil
	})
	return h, err
}

// add adds a record, unless its transaction number is older than the known ones.
func (h *History) add(r *Record) {
	if r.TxnNumber > h.TxnNumber {
		h.TxnNumber, h.Records = r.TxnNumber, h.Records[:0]
	}
	if r.TxnNumber == h.TxnNumber {
		h.Records = append(h.Records, *r)
	}
}

// Old returns the sessions whose records are all older than a time, in milliseconds since 1970.
func Old(engine storage.Engine, before int64) ([]Session, error) {
	var old []Session
	var last Session
	newest := int64(math.MaxInt64) // time of the newest record of the last session
	err := scan(engine, []byte{keyspace.Retryable}, func(key []byte, r *Record) error {
		s := Session(key[1:prefixSize])
		if s != last {
			if newest < before {
				old = append(old, last)
			}
			last, newest = s, r.Time
		}
		newest = max(newest, r.Time)
		return nil
	})
	if newest < before {
		old = append(old, last)
	}
	return old, err
}

// Remove deletes the records of a session, unless one of them has the time before or a later time.
// The caller must have the session checked out.
func Remove(engine storage.Engine, s *Session, before int64) error {
	txn := engine.Begin()
	defer txn.Rollback()
	err := scan(engine, append([]byte{keyspace.Retryable}, s[:]...), func(key []byte, r *Record) error {
		if r.Time >= before {
			return errYoung
		}
		return txn.Delete(key)
	})
	if errors.Is(err, errYoung) {
		return nil
	}
	if err != nil {
		return err
	}
	return txn.Commit(storage.Buffered)
}

var errYoung = errors.New("the session was used")

// scan calls fn for the records whose keys begin with prefix.
func scan(engine storage.Engine, prefix []byte, fn func(key []byte, r *Record) error) error {
	upper := append([]byte(nil), prefix...)
	for len(upper) < keySize+1 {
		upper = append(upper, 0xFF)
	}
	return scanRange(engine, prefix, upper, fn)
}

// scanFrom calls fn for all records whose keys are not less than from.
func scanFrom(engine storage.Engine, from []byte, fn func(key []byte, r *Record) error) error {
	return scanRange(engine, from, []byte{keyspace.Retryable + 1}, fn)
}

func scanRange(engine storage.Engine, lower, upper []byte, fn func(key []byte, r *Record) error) error {
	snap := engine.NewSnapshot()
	defer snap.Close()
	return storage.Scan(snap, lower, upper, func(key, value []byte) error {
		r, err := decode(key, value)
		if err != nil {
			return err
		}
		return fn(key, &r)
	})
}
