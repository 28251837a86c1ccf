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

// Locator appends to dst a document that tells how far it is and which of its values is there.
type Locator func(dst []byte, doc bsonx.Doc, distance float64, place bsonx.Value) ([]byte, error)

// GeoNear yields records by their distance from a point. It walks through the cells of an index from the nearest on: a queue
// holds cells that were not looked into, entries whose records were not read, and records, each by the least distance that it
// can have. What comes out of the queue first is looked into, or is the next row. So only what is about as near as the rows
// that were asked for is read, and nothing is sorted as a whole.
type GeoNear struct {
	base
	opts    GeoNearOptions
	cursor  entryCursor
	bounds  *Bounds
	queue   nearQueue
	order   int       // of what is put into the queue next
	bytes   int       // in the queue
	scan    *cellScan // nil between two scans
	room    cellScan  // where scan is
	start   []byte
	places  *index.Places
	values  []bsonx.Value
	seen    seen
	records recordReader
	row     Row
	out     []byte
	decoded []byte
	running interrupt.Running // of geometries
}

// GeoNearOptions are the parts of a search by distance.
type GeoNearOptions struct {
	Coll  *table.Collection
	Index *table.Index
	// Field is the field of the index that holds cells; Fields and Desc are the bounds of all fields, as in Bounds.
	Field  int
	Fields [][]Range
	Desc   []bool
	// Space are the cells, seen from the point; Encode makes a range of what the index holds.
	Space  geo.Space
	Encode func(geo.Interval) Range
	Near   *filter.GeoNear
	Filter table.Predicate
	// Dedup is needed where the index is multikey.
	Dedup bool
	// Refused is why there can be no search: the point is outside of what the index holds.
	Refused error
	// Located shapes the documents; nil leaves them as they are.
	Located Locator
}

// chunk is how many entries of a cell are looked at before it is divided.
const chunk = 16

// cellScan is a scan of the entries in a cell that has not come to its end.
type cellScan struct {
	cell    geo.Cell
	divides bool // too many entries make the cell's children take its place
	found   []nearEntry
	buf     []byte
}

// nearEntry is an entry that was found; its record's key ends in the buffer where it says.
type nearEntry struct {
	cell geo.Cell
	end  int
}

// NewGeoNear returns a search before its first row.
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

// put adds to the queue.
func (n *GeoNear) put(item nearItem) {
	item.order = n.order
	n.order++
	n.bytes += item.size()
	n.queue.push(item)
}

// enter begins to scan a cell, unless all that is in it is too near.
func (n *GeoNear) enter(c geo.Cell) {
	if n.opts.Near.Min > 0 && n.opts.Space.Farthest(c) < n.opts.Near.Min {
		return
	}
	n.begin(c, n.opts.Space.Within(c), true)
}

// begin makes the cursor go to the first entry of a cell.
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

// find goes on with the scan of a cell.
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

// divide puts the children of a cell in its place, and scans what only the cell itself has.
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

// keep puts the entries that a scan has found into the queue.
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

// cellOf decodes the cell in an entry's key; false where the field has none.
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

// read reads the record of an entry and measures its distance. It reports whether the record is the next row; else it is in the
// queue, or left out.
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

// filter returns what records must match. After the tree was saved that is the whole query: a record may
// have left the bounds of the entry that led to it.
func (n *GeoNear) filter() table.Predicate {
	if n.stats.SaveStates > 0 {
		return n.env.Whole
	}
	return n.opts.Filter
}

// takeBack makes rows that were not given to the client records of the queue.
func (n *GeoNear) takeBack(rows []*Row) {
	for _, row := range rows {
		n.put(nearItem{kind: nearRecord, record: row.RecordKey, again: true})
	}
	n.stats.IsEOF = false
}

// fill makes a record the row.
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

// measure returns the least distance of a document's geometries, and which has it; false where it
// has none. It fails where the operation ends.
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
	n.row, n.out = Row{}, nil // the row was given out
	// A scan that has not begun, or has ended, has no place to go on from.
	n.cursor.save(n.scan == nil || len(n.cursor.seekKey) > 0)
}

// forget makes rows in the queue records again: a write may change how far they are.
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
