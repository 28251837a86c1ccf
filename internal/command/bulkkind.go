package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/table"
)

// WrittenSpace is a namespace of a bulkWrite, with the time that each kind of operation took on
// it. A kind without operations has a negative time.
type WrittenSpace struct {
	Namespace
	Took [bulkKinds]time.Duration
}

// WrittenSpaces are the namespaces of a bulkWrite without operations.
func WrittenSpaces(spaces []Namespace) []WrittenSpace {
	out := make([]WrittenSpace, len(spaces))
	for i := range out {
		out[i] = WrittenSpace{spaces[i], [bulkKinds]time.Duration{-1, -1, -1}}
	}
	return out
}

// Namespace is one entry of nsInfo.
type Namespace struct {
	DB, Name string
	UUID     bsonx.Value // that the collection must have; missing where that is not said
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

// Counter is the opcounter of operations of a kind.
func (k BulkKind) Counter() Counter { return [...]Counter{CountInsert, CountUpdate, CountDelete}[k] }

// Traffic is as what top counts operations of a kind.
func (k BulkKind) Traffic() table.TrafficKind {
	return [...]table.TrafficKind{table.TrafficInsert, table.TrafficUpdate, table.TrafficRemove}[k]
}
