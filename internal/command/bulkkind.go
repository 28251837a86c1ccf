package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/table"
)

// WrittenSpace is a namespace of a bulkWrite with the time that each kind of operation took on it.
// The time is negative for a kind that the bulkWrite did not use.
type WrittenSpace struct {
	Namespace
	Took [bulkKinds]time.Duration
}

// WrittenSpaces returns one WrittenSpace for each namespace. All times are negative, because no
// operation has run yet.
func WrittenSpaces(spaces []Namespace) []WrittenSpace {
	out := make([]WrittenSpace, len(spaces))
	for i := range out {
		out[i] = WrittenSpace{spaces[i], [bulkKinds]time.Duration{-1, -1, -1}}
	}
	return out
}

// Namespace is one entry of the nsInfo array of a bulkWrite.
type Namespace struct {
	DB, Name string
	UUID     bsonx.Value // collectionUUID: the UUID that the collection must have; missing if the client gave none
}

// BulkKind is a kind of operation of a bulkWrite.
type BulkKind int

// The kinds of operations of a bulkWrite.
const (
	BulkInsert BulkKind = iota
	BulkUpdate
	BulkDelete
	bulkKinds
)

// Counter returns the opcounter that an operation of kind k adds to.
func (k BulkKind) Counter() Counter { return [...]Counter{CountInsert, CountUpdate, CountDelete}[k] }

// Traffic returns the column of the command top in which operations of kind k are counted.
func (k BulkKind) Traffic() table.TrafficKind {
	return [...]table.TrafficKind{table.TrafficInsert, table.TrafficUpdate, table.TrafficRemove}[k]
}
