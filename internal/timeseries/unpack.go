package timeseries

import (
	"encoding/binary"
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Unpacker converts buckets back to measurements. A measurement has the time, the meta value, and
// then the other fields in the order of the bucket's columns.
type Unpacker struct {
	opts *Options
	// wanted are the fields to include, or nil for all fields. Fields in unwanted are omitted.
	wanted, unwanted map[string]bool

	meta  bsonx.Value
	count int
	next  int
	cols  []unpacked
	doc   []byte
}

type unpacked struct {
	key    []byte // a byte for the type, the name, 0
	column column
}

func (c *unpacked) name() []byte { return c.key[1 : len(c.key)-1] }

// NewUnpacker returns an unpacker. If wanted is nil, it includes all fields except the unwanted
// ones.
func NewUnpacker(o *Options, wanted, unwanted map[string]bool) *Unpacker {
	return &Unpacker{opts: o, wanted: wanted, unwanted: unwanted}
}

func (u *Unpacker) wants(name []byte) bool {
	if u.wanted != nil {
		return u.wanted[string(name)]
	}
	return !u.unwanted[string(name)]
}

// Start begins with a bucket. The bucket stays borrowed until its last measurement.
func (u *Unpacker) Start(bucket bsonx.Doc) error {
	u.next, u.count = 0, Count(bucket)
	u.meta = bsonx.Missing
	if u.opts.Meta != "" && u.wants([]byte(u.opts.Meta)) {
		u.meta = bucket.Lookup("meta")
	}
	u.cols = u.cols[:0]
	for it := bucket.Lookup("data").Doc().Iter(); it.Next(); {
		if !u.wants(it.Key()) {
			continue
		}
		n := len(u.cols)
		if n < cap(u.cols) {
			u.cols = u.cols[:n+1]
		} else {
			u.cols = append(u.cols, unpacked{})
		}
		c := &u.cols[n]
		c.key = append(append(append(c.key[:0], 0), it.Key()...), 0)
		if err := decodeColumn(&c.column, it.Value(), u.count); err != nil {
			return fmt.Errorf("bucket %s: %w", bsonx.FormatShell(bucket.Lookup("_id")), err)
		}
	}
	return nil
}

// Left returns the number of measurements left in the bucket.
func (u *Unpacker) Left() int { return u.count - u.next }

// Skip skips the next n measurements.
func (u *Unpacker) Skip(n int) { u.next += n }

// Next returns the next measurement, or nil at the end of the bucket. It is borrowed until the
// following call.
func (u *Unpacker) Next() bsonx.Doc {
	if u.next >= u.count {
		return nil
	}
	i := u.next
	u.next++
	doc := append(u.doc[:0], 0, 0, 0, 0)
	hasTime := len(u.cols) > 0 && string(u.cols[0].name()) == u.opts.Time
	if !hasTime {
		doc = u.appendMeta(doc)
	}
	for k := range u.cols {
		c := &u.cols[k]
		if v := c.column.At(i); v.Type != bsonx.TypeMissing {
			at := len(doc)
			doc = append(append(doc, c.key...), v.Data...)
			doc[at] = byte(v.Type)
		}
		if hasTime && k == 0 {
			doc = u.appendMeta(doc)
		}
	}
	doc = append(doc, 0)
	binary.LittleEndian.PutUint32(doc, uint32(len(doc)))
	u.doc = doc
	return doc
}

// appendMeta appends the meta value, which follows the time.
func (u *Unpacker) appendMeta(doc []byte) []byte {
	if u.meta.IsMissing() {
		return doc
	}
	doc = append(append(append(doc, byte(u.meta.Type)), u.opts.Meta...), 0)
	return append(doc, u.meta.Data...)
}

// Kept returns approximately how many bytes of a bucket are left.
func (u *Unpacker) Kept() int64 {
	if u.Left() <= 0 {
		return 0
	}
	n := len(u.meta.Data) + cap(u.doc)
	for i := range u.cols {
		n += u.cols[i].column.Bytes()
	}
	return int64(n)
}

// Detach copies borrowed data, so that the bucket need not stay borrowed.
func (u *Unpacker) Detach() { u.meta = u.meta.Clone() }
