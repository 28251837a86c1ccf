package keyspace

import "encoding/binary"

// The first byte of every key of a store. These values are stored, so a byte is never reused for
// another purpose.
const (
	Catalog   = 0x02 // catalog entries, garbage and the next identifier
	Counters  = 0x03 // number and size of a collection's records
	Multikey  = 0x04 // paths at which an index has met arrays
	Retryable = 0x05 // results of retryable writes
	Records   = 0x10 // documents
	// Oplog is for the records of the oplog. It differs from Records because the engine keeps a
	// table for each first byte, and the oplog is written and trimmed differently.
	Oplog   = 0x18
	Entries = 0x20 // index entries
)

// PrefixLen is the length of a prefix in bytes.
const PrefixLen = 5

// Prefix returns the prefix of the keys of a collection or an index in a space: the first byte and
// the identifier (4 bytes, big endian).
func Prefix(space byte, id uint32) []byte { return AppendPrefix(nil, space, id) }

// AppendPrefix appends a prefix to dst; see Prefix.
func AppendPrefix(dst []byte, space byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, space), id)
}

// PrefixEnd returns the first key after all keys with the prefix.
func PrefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// IsRecord reports whether a key belongs to a document of a collection other than the oplog.
func IsRecord(key []byte) bool { return len(key) > 0 && key[0] == Records }
