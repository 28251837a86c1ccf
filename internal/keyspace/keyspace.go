package keyspace

import "encoding/binary"

// The first byte of every key of a store. They are stored: a byte is never used for something else.
const (
	Catalog   = 0x02 // entries, garbage and the next identifier
	Counters  = 0x03 // records and bytes of a collection
	Multikey  = 0x04 // paths at which an index has met arrays
	Retryable = 0x05 // what retryable writes did
	Records   = 0x10 // documents
	// Oplog has the records of the oplog. It is not Records, because storage keeps a table of each
	// first byte, and the oplog is written and trimmed in another way.
	Oplog   = 0x18
	Entries = 0x20 // entries of indexes
)

// PrefixLen is the length of the keys that Prefix returns.
const PrefixLen = 5

// Prefix returns what begins the keys of a collection or an index in a space: the first byte and
// the identifier, 4 bytes, big endian.
func Prefix(space byte, id uint32) []byte { return AppendPrefix(nil, space, id) }

// AppendPrefix appends Prefix to dst.
func AppendPrefix(dst []byte, space byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, space), id)
}

// PrefixEnd returns the first key after all keys with that prefix.
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

// IsRecord reports whether a key has a document of a collection other than the oplog.
func IsRecord(key []byte) bool { return len(key) > 0 && key[0] == Records }
