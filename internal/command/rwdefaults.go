package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// The collection and the _id under which the defaults are stored, as in MongoDB.
const (
	DefaultsCollection = "settings"
	defaultsID         = "ReadWriteConcernDefaults"
)

// CodeNotReplicated is the code of the error for setting default concerns on a standalone server.
const CodeNotReplicated = mongoerr.Code(51300)

// RWDefaults are the read and write concern for commands without one. They are immutable once
// stored.
type RWDefaults struct {
	read  bsonx.Doc // as the client sent it; nil if no default is set
	Level string    // the level of read
	Write bsonx.Doc
	// WriteConcern is the parsed form of Write.
	WriteConcern WriteConcern
	At           storage.Stamp
	Wall         time.Time // time of the change
	Local        time.Time // time at which this process learned of the change
}

// The defaults that apply if no default was set.
var (
	impliedRead  = bsonx.NewDoc("level", LevelLocal)
	impliedWrite = bsonx.NewDoc("w", ModeMajority, "wtimeout", 0)
	impliedOne   = bsonx.NewDoc("w", 1, "wtimeout", 0)
)

// SetRead sets the default read concern. A nil document changes nothing, an empty one removes the
// default.
func (d *RWDefaults) SetRead(doc bsonx.Doc) error {
	if doc == nil {
		return nil
	}
	if doc.IsEmpty() {
		d.read, d.Level = nil, ""
		return nil
	}
	var g Generic
	if err := setReadConcern(&g, "", bsonx.Document(doc)); err != nil {
		return err
	}
	for it := doc.Iter(); it.Next(); {
		if string(it.Key()) != "level" {
			return mongoerr.New(mongoerr.BadValue, "'%s' is not suitable for the default read concern", it.Key())
		}
	}
	if level := g.ReadConcern.Level; level == LevelSnapshot || level == LevelLinearizable {
		return mongoerr.New(mongoerr.BadValue, "level: '%s' is not suitable for the default read concern", level)
	}
	d.read, d.Level = doc.Clone(), g.ReadConcern.Level
	return nil
}

// SetWrite sets the default write concern. A nil document changes nothing. An empty one is an error
// if a default is set, as in MongoDB.
func (d *RWDefaults) SetWrite(doc bsonx.Doc) error {
	switch {
	case doc == nil:
		return nil
	case doc.IsEmpty() && d.Write == nil:
		return nil
	case doc.IsEmpty():
		return mongoerr.New(mongoerr.IllegalOperation, "The global default write concern cannot be unset once it is set.")
	}
	var g Generic
	if err := setWriteConcern(&g, "", bsonx.Document(doc)); err != nil {
		return err
	}
	wc := &g.WriteConcern
	if wc.NoW {
		wc.W = 1
	}
	if wc.Unacknowledged() {
		return mongoerr.New(mongoerr.BadValue, "Unacknowledged write concern is not suitable for the default write concern")
	}
	if err := wc.Unmet(); err != nil {
		return err
	}
	d.Write = wc.Document("")
	wc.Given = false // the default does not count as sent by the client
	d.WriteConcern = *wc
	return nil
}

// Document returns the defaults in their stored format.
func (d *RWDefaults) Document() bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("_id", defaultsID)
	if d.read != nil {
		b.Doc("defaultReadConcern", d.read)
	}
	if d.Write != nil {
		b.Doc("defaultWriteConcern", d.Write)
	}
	b.Value("updateOpTime", oplog.Timestamp(d.At))
	b.Date("updateWallClockTime", d.Wall.UnixMilli())
	b.End()
	return b.Bytes()
}

func (d *RWDefaults) load(doc bsonx.Doc) {
	if v := doc.Lookup("defaultReadConcern"); v.Type == bsonx.TypeDocument {
		_ = d.SetRead(v.Doc())
	}
	if v := doc.Lookup("defaultWriteConcern"); v.Type == bsonx.TypeDocument {
		_ = d.SetWrite(v.Doc())
	}
	if v := doc.Lookup("updateOpTime"); v.Type == bsonx.TypeTimestamp {
		d.At = StampOf(v)
	}
	if v := doc.Lookup("updateWallClockTime"); v.Type == bsonx.TypeDate {
		d.Wall = time.UnixMilli(v.Int64())
	}
}
