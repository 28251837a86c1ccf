package main

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// operation names the operation that the clients of a workload repeat.
type operation string

const (
	opPing         operation = "ping"
	opFindID       operation = "find by _id"
	opInsert       operation = "insert, unsynced"
	opInsertSynced operation = "insert, synced"
	opInsertMany   operation = "insertMany of 1,000, unsynced"
	opUpdateInc    operation = "update {$inc} by _id, unsynced"
	opUpdateSynced operation = "update {$inc} by _id, synced"
	opScans        operation = "YCSB-E: scans of 1..100 documents, 5 % inserts, unsynced"
	opScansSynced  operation = "YCSB-E: scans of 1..100 documents, 5 % inserts, synced"
	opIndexEqual   operation = "equality on a secondary index"
	opIndexRange   operation = "range of 100 documents"
	opCompoundSort operation = "compound equality + sort + limit 20"
	opScanCount    operation = "unindexed filter, count"
	opSortTop      operation = "sort by an unindexed field, first 100"
	opSortAll      operation = "sort by an unindexed field, all _ids"
	opDistinct     operation = "distinct by index"
)

const (
	insertBatch = 1000
	rangeSize   = 100
	sortLimit   = 20
	topSize     = 100
)

// workload is an operation, with the number of clients that repeat it in parallel.
type workload struct {
	Name    string    `json:"name"`
	Op      operation `json:"operation"`
	Clients int       `json:"clients"`
	// Concern says whether writes wait for the disk. In results it is always set. In the list of
	// workloads it may be empty, and then the default of the operation holds.
	Concern concern `json:"concern,omitempty"`
	// Embedded lets the sides in this process take part, if they support the operation.
	Embedded bool `json:"-"`
}

var workloads = []workload{
	{Name: "ping-1", Op: opPing, Clients: 1, Embedded: true},
	{Name: "ping-16", Op: opPing, Clients: 16},
	{Name: "find-id-1", Op: opFindID, Clients: 1, Embedded: true},
	{Name: "find-id-16", Op: opFindID, Clients: 16, Embedded: true},
	{Name: "insert-1", Op: opInsert, Clients: 1, Embedded: true},
	{Name: "insert-16", Op: opInsert, Clients: 16, Embedded: true},
	{Name: "insert-synced-16", Op: opInsertSynced, Clients: 16},
	{Name: "insert-synced-64", Op: opInsertSynced, Clients: 64, Embedded: true},
	{Name: "insert-many-1000", Op: opInsertMany, Clients: 1, Embedded: true},
	{Name: "update-inc-16", Op: opUpdateInc, Clients: 16},
	{Name: "update-inc-synced-16", Op: opUpdateSynced, Clients: 16},
	{Name: "ycsb-e-16", Op: opScans, Clients: 16},
	{Name: "ycsb-e-synced-16", Op: opScansSynced, Clients: 16},
	{Name: "index-equal-16", Op: opIndexEqual, Clients: 16},
	{Name: "index-range-100", Op: opIndexRange, Clients: 4},
	{Name: "compound-sort-limit-20", Op: opCompoundSort, Clients: 4},
	{Name: "scan-count", Op: opScanCount, Clients: 1, Embedded: true},
	{Name: "sort-first-100", Op: opSortTop, Clients: 1},
	{Name: "sort-all", Op: opSortAll, Clients: 1},
	{Name: "distinct", Op: opDistinct, Clients: 1},
}

// units returns how much one operation adds to the rate: the number of documents, or 1.
func (w workload) units(d dataset) float64 {
	switch w.Op {
	case opInsertMany:
		return insertBatch
	case opScanCount:
		return float64(d.size)
	default:
		return 1
	}
}

// unit returns the unit of the rate: documents or operations.
func (w workload) unit() string {
	switch w.Op {
	case opInsertMany, opScanCount:
		return "documents"
	default:
		return "operations"
	}
}

// These are the names of the sides, in the order of the columns.
const (
	sideFloor       = "floor"
	sideSheaf       = "sheaf"
	sideByHand      = "by-hand"
	sideBefore      = "before"
	sideStandalone  = "standalone"
	sidePostgres    = "postgres"
	sidePeer        = "peer"
	sideFloorMemory = "floor-memory"
	sideEmbedded    = "embedded"
	sidePebble      = "pebble"
)

var sideOrder = []string{
	sideFloor, sideSheaf, sideByHand, sideBefore, sideStandalone, sidePostgres, sidePeer,
	sideFloorMemory, sideEmbedded, sidePebble,
}

// side is a system that can run workloads.
type side interface {
	name() string
	// local reports whether the side runs in this process.
	local() bool
	// load inserts the documents and creates the indexes.
	load(ctx context.Context, d dataset) error
	// prepare is called before each measurement. It empties the collections that inserts fill.
	prepare(ctx context.Context, op operation) error
	// do returns a function that runs the operation once. It returns nil if the side cannot run it.
	do(op operation) func(ctx context.Context, w *worker) error
	// processes returns the IDs of the side's processes. The list is empty for a side in this
	// process or on another machine.
	processes() []int
	// budget returns the memory budget of the server in bytes, or 0 if it has none.
	budget() int64
	close() error
}

// worker is one client of a measurement.
type worker struct {
	data dataset
	rng  *rand.Rand
	ids  *atomic.Int64
	doc  bson.Raw
	json []byte
	key  []byte

	// scanDoc, scanJSON and popular are used by workload E of YCSB.
	scanDoc  bson.Raw
	scanJSON []byte
	popular  *zipf
	// writes says whether the writes of the patterns wait for the disk.
	writes concern
	// taken holds the latencies of the operations in the current measurement.
	taken histogram
}

// nextDocument returns a document with an _id that no other insert of the measurement uses. The
// next call overwrites it.
func (w *worker) nextDocument() bson.Raw {
	setID(w.doc, w.ids.Add(1))
	return w.doc
}

// anyID returns the _id of a random document.
func (w *worker) anyID() int64 { return w.rng.Int64N(int64(w.data.size)) }
