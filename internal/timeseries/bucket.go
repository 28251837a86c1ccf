package timeseries

import (
	"fmt"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// version is the control.version of a bucket with compressed columns and with measurements sorted
// by time.
const version = 2

// Count returns the number of measurements in a bucket.
func Count(bucket bsonx.Doc) int {
	n, _ := bucket.LookupPath("control", "count").AsInt64()
	return int(n)
}

// MaxTime returns the last time of a bucket.
func (o *Options) MaxTime(bucket bsonx.Doc) (int64, bool) {
	return millis(bucket.LookupPath("control", "max", o.Time))
}

func millis(v bsonx.Value) (int64, bool) {
	if v.Type != bsonx.TypeDate {
		return 0, false
	}
	return v.Int64(), true
}

// Holds reports whether a bucket belongs to a window and to a meta value, which must be normalized.
func (o *Options) Holds(bucket bsonx.Doc, start int64, meta bsonx.Value) bool {
	own := bucket.Lookup("meta")
	if !own.Identical(meta) {
		return false
	}
	last, ok := o.MaxTime(bucket)
	return ok && o.WindowStart(last) == start
}

// CheckTime returns the time of a measurement in milliseconds.
func (o *Options) CheckTime(measurement bsonx.Doc) (int64, error) {
	v := measurement.Lookup(o.Time)
	if v.Type != bsonx.TypeDate {
		return 0, mongoerr.New(mongoerr.BadValue, "'%s' must be present and contain a valid BSON UTC datetime value", o.Time)
	}
	return v.Int64(), nil
}

// MetaOf returns the normalized meta value of a measurement, or a missing value.
func (o *Options) MetaOf(measurement bsonx.Doc) bsonx.Value {
	if o.Meta == "" {
		return bsonx.Missing
	}
	return normalize(measurement.Lookup(o.Meta))
}

// Builder makes buckets from measurements with the same meta value. It borrows the measurements and
// buckets that are added.
type Builder struct {
	opts  *Options
	names []string
	index map[string]int
	cols  [][]bsonx.Value // for each name, the values of all measurements
	sizes []int           // sizes of the measurements in bytes
	times []int64
	order []int // positions of the measurements in the order of their times; set by Sort

	decoded []*column // decoded columns, from which cols borrows values
	free    []*column
	encoder columnEncoder
	values  []bsonx.Value
	column  []byte
}

// NewBuilder returns a builder for buckets of a collection.
func NewBuilder(o *Options) *Builder {
	b := new(Builder)
	b.Reset(o)
	return b
}

// Reset drops all measurements. Later measurements belong to a collection with these options.
func (b *Builder) Reset(o *Options) {
	b.opts = o
	b.names, b.sizes, b.times, b.order = b.names[:0], b.sizes[:0], b.times[:0], b.order[:0]
	b.free, b.decoded = append(b.free, b.decoded...), b.decoded[:0]
	if b.index == nil {
		b.index = map[string]int{}
	}
	clear(b.index)
	b.columnOf(b.opts.Time)
}

// Len returns the number of measurements.
func (b *Builder) Len() int { return len(b.sizes) }

// Bytes returns the size of the measurements.
func (b *Builder) Bytes() int {
	n := 0
	for _, size := range b.sizes {
		n += size
	}
	return n
}

// columnOf returns the number of the column for a field. It adds the column if it does not exist.
func (b *Builder) columnOf(name string) int {
	if i, ok := b.index[name]; ok {
		return i
	}
	i := len(b.names)
	b.names = append(b.names, name)
	b.index[name] = i
	if i < cap(b.cols) {
		b.cols = b.cols[:i+1]
		b.cols[i] = b.cols[i][:0]
	} else {
		b.cols = append(b.cols, nil)
	}
	return i
}

// set sets a field of the measurement that is being added.
func (b *Builder) set(name []byte, v bsonx.Value) {
	i, ok := b.index[string(name)]
	if !ok {
		i = b.columnOf(string(name))
	}
	n := len(b.sizes)
	if len(b.cols[i]) > n {
		return // for duplicate names the first field counts
	}
	for len(b.cols[i]) < n {
		b.cols[i] = append(b.cols[i], bsonx.Missing)
	}
	b.cols[i] = append(b.cols[i], v)
}

// Add adds a measurement. The caller has checked its time.
func (b *Builder) Add(measurement bsonx.Doc) {
	for it := measurement.Iter(); it.Next(); {
		if b.opts.Meta == "" || string(it.Key()) != b.opts.Meta {
			b.set(it.Key(), it.Value())
		}
	}
	b.times = append(b.times, measurement.Lookup(b.opts.Time).Int64())
	b.sizes = append(b.sizes, len(measurement))
}

// AddBucket adds the measurements of a bucket.
func (b *Builder) AddBucket(bucket bsonx.Doc) error {
	count, before := Count(bucket), len(b.sizes)
	if count <= 0 {
		return fmt.Errorf("%w: no measurements", errColumn)
	}
	for range count {
		b.sizes = append(b.sizes, 5)
	}
	for it := bucket.Lookup("data").Doc().Iter(); it.Next(); {
		column, err := b.decode(it.Value(), count)
		if err != nil {
			return err
		}
		i := b.columnOf(string(it.Key()))
		for len(b.cols[i]) < before {
			b.cols[i] = append(b.cols[i], bsonx.Missing)
		}
		for k := range count {
			v := column.At(k)
			b.cols[i] = append(b.cols[i], v)
			if !v.IsMissing() {
				b.sizes[before+k] += len(it.Key()) + 2 + len(v.Data)
			}
		}
	}
	times := b.cols[0]
	if len(times) != len(b.sizes) {
		return fmt.Errorf("%w: no times", errColumn)
	}
	for _, v := range times[before:] {
		if v.Type != bsonx.TypeDate {
			return fmt.Errorf("%w: no time", errColumn)
		}
		b.times = append(b.times, v.Int64())
	}
	return nil
}

func (b *Builder) decode(v bsonx.Value, count int) (*column, error) {
	column := &column{}
	if n := len(b.free); n > 0 {
		column, b.free = b.free[n-1], b.free[:n-1]
	}
	b.decoded = append(b.decoded, column)
	return column, decodeColumn(column, v, count)
}

func decodeColumn(column *column, v bsonx.Value, count int) error {
	if v.Type != bsonx.TypeBinary || count > MaxCount {
		return errColumn
	}
	subtype, data := v.Binary()
	if subtype != columnSubtype {
		return errColumn
	}
	return column.decode(data, count)
}

// columnSubtype is the BSON binary subtype of compressed columns.
const columnSubtype = 7

// Remove removes the measurements for which drop is true. Call it before Sort.
func (b *Builder) Remove(drop []bool) {
	for i := range b.cols {
		kept := b.cols[i][:0]
		for k, v := range b.cols[i] {
			if !drop[k] {
				kept = append(kept, v)
			}
		}
		b.cols[i] = kept
	}
	n := 0
	for k := range drop {
		if !drop[k] {
			b.times[n], b.sizes[n] = b.times[k], b.sizes[k]
			n++
		}
	}
	b.times, b.sizes = b.times[:n], b.sizes[:n]
}

// Sort sorts the measurements by time. Call it before Cut and Doc.
func (b *Builder) Sort() {
	b.order = b.order[:0]
	for i := range b.times {
		b.order = append(b.order, i)
	}
	if !slices.IsSorted(b.times) {
		slices.SortStableFunc(b.order, func(x, y int) int {
			switch {
			case b.times[x] < b.times[y]:
				return -1
			case b.times[x] > b.times[y]:
				return 1
			default:
				return 0
			}
		})
	}
}

// Cut returns the end of the longest range of measurements from start on that fits into a bucket.
func (b *Builder) Cut(start int) int {
	size := 0
	for end := start; end < len(b.order); end++ {
		size += b.sizes[b.order[end]]
		if end > start && (size > MaxBytes || end-start == MaxCount) {
			return end
		}
	}
	return len(b.order)
}

// Doc returns the bucket of the measurements of a range.
func (b *Builder) Doc(id [12]byte, meta bsonx.Value, start, end int) (bsonx.Doc, error) {
	var low, high, data bsonx.Builder
	low.StartDoc()
	high.StartDoc()
	data.StartDoc()
	for i, name := range b.names {
		values, any := b.values[:0], false
		for _, k := range b.order[start:end] {
			v := bsonx.Missing
			if k < len(b.cols[i]) {
				v = b.cols[i][k]
			}
			any = any || !v.IsMissing()
			values = append(values, v)
		}
		b.values = values
		if !any {
			continue
		}
		b.column = b.encoder.appendColumn(b.column[:0], values)
		data.Value(name, bsonx.Binary(columnSubtype, b.column))
		lowest, highest := bounds(values)
		if i == 0 {
			rounding := b.opts.Rounding * 1000
			lowest = bsonx.Date(floorDiv(lowest.Int64(), rounding) * rounding)
		}
		low.Value(name, lowest)
		high.Value(name, highest)
	}
	low.End()
	high.End()
	data.End()
	out := bsonx.NewBuilder(make([]byte, 0, 200+low.Len()+high.Len()+data.Len()+len(meta.Data)))
	out.StartDoc()
	out.Value("_id", bsonx.ObjectID(id))
	out.StartDocField("control")
	out.Int32("version", version)
	out.Doc("min", low.Bytes())
	out.Doc("max", high.Bytes())
	out.Int32("count", int32(end-start))
	out.End()
	out.Value("meta", meta)
	out.Doc("data", data.Bytes())
	out.End()
	if out.Len() > limits.DocumentBytes {
		return nil, mongoerr.New(mongoerr.BSONObjectTooLarge, "the bucket of the measurement would have %d bytes, more than %d", out.Len(), limits.DocumentBytes)
	}
	return out.Bytes(), nil
}
