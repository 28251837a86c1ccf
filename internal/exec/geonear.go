package exec

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Locator appends to dst a copy of the document with the distance, and perhaps with the geometry at
// that distance. $geoNear adds them as distanceField and includeLocs.
type Locator func(dst []byte, doc bsonx.Doc, distance float64, place bsonx.Value) ([]byte, error)

// GeoNear yields records in the order of their distance from a point, without sorting the whole
// result. It searches the cells of a geo index, beginning with the nearest. A priority queue holds
// three kinds of items: cells that were not searched, records that were not read, and rows. Each
// item is ordered by its distance, or by a lower bound of the distance. GeoNear takes the first
// item of the queue: a cell or a record is expanded, a row is the next result. So it reads little
// more than the records that are at least as near as the last row that was requested.
type GeoNear struct {
	base
	opts    GeoNearOptions
	cursor  entryCursor
	bounds  *Bounds
	queue   nearQueue
	order   int       // sequence number of the next item put into the queue
	bytes   int       // size of the items in the queue
	scan    *cellScan // the current scan; nil between two scans
	room    cellScan  // storage for scan
	start   []byte
	places  *index.Places
	values  []bsonx.Value
	seen    seen
	records recordReader
	row     Row
	out     []byte
	decoded []byte
	running interrupt.Running // ends the work on large geometries when the operation ends
}

// GeoNearOptions configure a search by distance.
type GeoNearOptions struct {
	Coll  *table.Collection
	Index *table.Index
	// Field is the position of the geo field in the index. Fields and Desc are the bounds of all
	// index fields, as in Bounds. GeoNear replaces the ranges of the geo field by the cell that it
	// scans.
	Field  int
	Fields [][]Range
	Desc   []bool
	// Space divides the space into cells and computes their distances from the point. Encode turns
	// an interval of cells into a range of index values.
	Space  geo.Space
	Encode func(geo.Interval) Range
	Near   *filter.GeoNear
	Filter table.Predicate
	// Dedup makes the search yield each record once, which a multikey index needs.
	Dedup bool
	// Refused, if not nil, is the error that the first Next returns: the point lies outside of the
	// area of the index.
	Refused error
	// Located shapes the documents; nil leaves them unchanged.
	Located Locator
}

// chunk is the number of entries of a cell that are read before the cell is divided.
const chunk = 16

// cellScan is an unfinished scan of the entries of one cell.
type cellScan struct {
	cell    geo.Cell
	divides bool // the cell is replaced by its children if it has too many entries
	found   []nearEntry
	buf     []byte
}

// nearEntry is an entry that a cellScan has found. The key of its record ends at offset end of
// cellScan.buf, and begins where the record key of the entry before it ends.
type nearEntry struct {
	cell geo.Cell
	end  int
}

// NewGeoNear returns a search that is positioned before its first row.
func NewGeoNear(env *Env, o GeoNearOptions) *GeoNear {
	n := &GeoNear{
		base: base{env: env}, opts: o, bounds: &Bounds{Fields: o.Fields, Desc: o.Desc},
		places: index.NewPlaces(o.Near.Path), records: recordReader{env: env, coll: o.Coll},
	}
	n.bounds.Fields[o.Field] = []Range{{}}
	n.cursor = newEntryCursor(env, o.Coll, o.Index, n.bounds, false)
	n.cursor.stats = &n.stats
	for _, c := range o.Space.Roots() {
		n.put(nearItem{kind: nearCell, cell: c, distance: o.Space.Distance(c)})
	}
	return n
}

// Next implements Node.
func (n *GeoNear) Next(ctx context.Context) (*Row, error) {
	n.running.Set(ctx)
	switch {
	case n.opts.Refused != nil:
		return nil, n.opts.Refused
	case n.stats.IsEOF:
		return nil, nil
	}
	n.records.release()
	for {
		if n.scan != nil {
			if err := n.find(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if err := n.env.step(ctx); err != nil {
			return nil, err
		}
		n.stats.Works++
		if len(n.queue) == 0 || n.queue[0].distance > n.opts.Near.Max {
			return n.end()
		}
		item := n.queue.pop()
		n.bytes -= item.size()
		switch item.kind {
		case nearCell:
			n.enter(item.cell)
		case nearRecord:
			ok, err := n.read(item)
			if err != nil {
				return nil, err
			}
			if ok {
				return n.emit(&n.row)
			}
		case nearRow:
			if err := n.fill(&item); err != nil {
				return nil, err
			}
			return n.emit(&n.row)
		}
		if n.bytes > n.env.SortMemory {
			return nil, mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
				"the search by distance exceeded the memory limit of %d bytes", n.env.SortMemory)
		}
	}
}

// IsEOF implements Node.
func (n *GeoNear) IsEOF() bool { return n.stats.IsEOF }

// put adds an item to the queue.
func (n *GeoNear) put(item nearItem) {
	item.order = n.order
	n.order++
	n.bytes += item.size()
	n.queue.push(item)
}

// enter begins to scan a cell, unless every point of the cell is nearer than the minimum distance.
func (n *GeoNear) enter(c geo.Cell) {
	if n.opts.Near.Min > 0 && n.opts.Space.Farthest(c) < n.opts.Near.Min {
		return
	}
	n.begin(c, n.opts.Space.Within(c), true)
}

// begin positions the cursor at the first entry of a cell.
func (n *GeoNear) begin(c geo.Cell, iv geo.Interval, divides bool) {
	n.room = cellScan{cell: c, divides: divides, found: n.room.found[:0], buf: n.room.buf[:0]}
	n.scan = &n.room
	n.bounds.Fields[n.opts.Field][0] = n.opts.Encode(iv)
	n.start = n.start[:0]
	for _, ranges := range n.bounds.Fields {
		if ranges == nil {
			break
		}
		n.start = append(n.start, ranges[0].Lo...)
		if n.start[len(n.start)-1] == 0xFF {
			break
		}
	}
	n.cursor.seek(n.start)
}

// find continues the scan of a cell, until the cell is read completely or divided.
func (n *GeoNear) find(ctx context.Context) error {
	for {
		key, err := n.cursor.next(ctx)
		if err != nil {
			return err
		}
		if key == nil {
			n.keep()
			return nil
		}
		if n.scan.divides && len(n.scan.found) == chunk {
			if children := n.opts.Space.Children(n.scan.cell); children != nil {
				n.divide(children)
				return nil
			}
			n.scan.divides = false
		}
		cell, ok, err := n.cellOf(key[prefixLen:])
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if n.scan.buf, err = n.opts.Coll.RecordKeyOfEntry(n.scan.buf, n.opts.Index, key); err != nil {
			return err
		}
		n.scan.found = append(n.scan.found, nearEntry{cell, len(n.scan.buf)})
	}
}

// divide replaces a cell by its children in the queue. It then scans the entries that belong to the
// cell itself and not to a child.
func (n *GeoNear) divide(children []geo.Cell) {
	cell := n.scan.cell
	n.scan = nil
	for _, c := range children {
		n.put(nearItem{kind: nearCell, cell: c, distance: n.opts.Space.Distance(c)})
	}
	if own, ok := n.opts.Space.Own(cell); ok {
		n.begin(cell, own, false)
	}
}

// keep moves the entries that the scan has found to the queue, and ends the scan.
func (n *GeoNear) keep() {
	start := 0
	records := append([]byte(nil), n.scan.buf...)
	for _, e := range n.scan.found {
		item := nearItem{kind: nearRecord, distance: n.opts.Space.Distance(e.cell), record: records[start:e.end:e.end]}
		start = e.end
		if item.distance <= n.opts.Near.Max {
			n.put(item)
		}
	}
	n.scan = nil
}

// cellOf decodes the cell in an entry's key. It returns false if the field does not hold a cell.
func (n *GeoNear) cellOf(key []byte) (geo.Cell, bool, error) {
	for f := range n.opts.Field {
		size, err := keystring.Skip(key, n.opts.Desc[f])
		if err != nil {
			return geo.Cell{}, false, err
		}
		key = key[size:]
	}
	v, _, buf, err := keystring.Decode(n.decoded[:0], key, n.opts.Desc[n.opts.Field], nil)
	if err != nil {
		return geo.Cell{}, false, err
	}
	n.decoded = buf
	var id uint64
	if v.Type == bsonx.TypeBinary {
		_, data := v.Binary()
		if len(data) != 8 {
			return geo.Cell{}, false, nil
		}
		id = binary.BigEndian.Uint64(data)
	} else if i, ok := v.AsExactInt64(); ok {
		id = uint64(i)
	} else {
		return geo.Cell{}, false, nil
	}
	cell, ok := n.opts.Space.Entry(id)
	return cell, ok, nil
}

// read reads the record of an item and measures its distance. It returns true if the record is the
// next row. Otherwise it has put the row into the queue, or dropped it because it does not match.
func (n *GeoNear) read(item nearItem) (bool, error) {
	if n.opts.Dedup && !item.again {
		if fresh, err := n.seen.add(n.env, &n.stats, item.record); err != nil || !fresh {
			return false, err
		}
	}
	doc, err := n.records.read(item.record)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n.stats.DocsExamined++
	if filter := n.filter(); filter != nil {
		if ok, err := filter.Match(doc); err != nil || !ok {
			return false, err
		}
	}
	distance, place, ok, err := n.measure(doc)
	if err != nil {
		return false, err
	}
	if !ok || distance < n.opts.Near.Min || distance > n.opts.Near.Max {
		return false, nil
	}
	item.kind, item.distance, item.place, item.doc = nearRow, distance, place, doc
	if len(n.queue) > 0 && n.queue[0].distance <= distance {
		item.doc, item.place = item.doc.Clone(), place.Clone()
		n.put(item)
		return false, nil
	}
	return true, n.fill(&item)
}

// filter returns the predicate that records must match. After a Save it is the query's complete
// filter: the record may have changed so that the bounds of its entry no longer hold.
func (n *GeoNear) filter() table.Predicate {
	if n.stats.SaveStates > 0 {
		return n.env.Whole
	}
	return n.opts.Filter
}

// takeBack returns rows that the client has not received to the queue. They are read and measured
// again.
func (n *GeoNear) takeBack(rows []*Row) {
	for _, row := range rows {
		n.put(nearItem{kind: nearRecord, record: row.RecordKey, again: true})
	}
	n.stats.IsEOF = false
}

// fill makes an item the current row.
func (n *GeoNear) fill(item *nearItem) error {
	n.row = Row{RecordKey: item.record, Doc: item.doc, Located: true, Distance: item.distance, Place: item.place}
	if n.opts.Near.Radians {
		n.row.Distance /= geo.EarthRadius
	}
	if n.opts.Located == nil {
		return nil
	}
	out, err := n.opts.Located(n.out[:0], item.doc, n.row.Distance, item.place)
	n.out, n.row.Doc = out, out
	return err
}

// measure returns the smallest distance between the point and a geometry of the document, and that
// geometry. found is false if the document has no geometry. It fails if the operation has ended.
func (n *GeoNear) measure(doc bsonx.Doc) (distance float64, place bsonx.Value, found bool, err error) {
	n.values = n.places.Append(n.values[:0], doc)
	try := func(v bsonx.Value) bool {
		var g geo.Geometry
		if g.ParseStored(v, &n.running) != nil {
			err = g.Ended()
			return err != nil
		}
		d, ok := g.Distance(&n.opts.Near.Center)
		err = g.Ended()
		if ok && (!found || d < distance) && n.opts.Space.Reaches(&g, d) {
			distance, place, found = d, v, true
		}
		return true
	}
	for _, v := range n.values {
		if err != nil {
			break
		}
		if try(v) || v.Type != bsonx.TypeArray {
			continue
		}
		for it := v.Doc().Iter(); err == nil && it.Next(); {
			try(it.Value())
		}
	}
	return distance, place, found, err
}

// Save implements Node.
func (n *GeoNear) Save() {
	n.base.Save()
	n.records.close()
	n.forget()
	n.row, n.out = Row{}, nil // the caller has received the row
	// A scan that has not begun or that has ended has no position.
	n.cursor.save(n.scan == nil || len(n.cursor.seekKey) > 0)
}

// forget turns the rows in the queue into records that must be read again: a write may change their
// distance.
func (n *GeoNear) forget() {
	queue := n.queue
	n.queue, n.bytes = make(nearQueue, 0, len(queue)), 0
	for _, item := range queue {
		if item.kind == nearRow {
			item.kind, item.doc, item.place, item.again = nearRecord, nil, bsonx.Value{}, true
		}
		n.bytes += item.size()
		n.queue.push(item)
	}
}

// Close implements Node.
func (n *GeoNear) Close() {
	n.records.close()
	n.cursor.close()
	n.seen.close()
	n.queue, n.scan, n.row = nil, nil, Row{}
}
