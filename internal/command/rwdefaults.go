package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Where the defaults that someone has set are kept, as by MongoDB.
const (
	DefaultsCollection = "settings"
	defaultsID         = "ReadWriteConcernDefaults"
)

// CodeNotReplicated is the error of a standalone server for defaults of concerns.
const CodeNotReplicated = mongoerr.Code(51300)

// RWDefaults are the read and write concern of commands that have none. They are immutable.
type RWDefaults struct {
	read  bsonx.Doc // as it was set; nil where it was not
	Level string    // of read
	Write bsonx.Doc
	// WriteConcern is write, parsed.
	WriteConcern WriteConcern
	At           storage.Stamp
	Wall         time.Time // of the change
	Local        time.Time // when this process learned of it
}

// What holds where nothing was set.
var (
	impliedRead  = bsonx.NewDoc("level", LevelLocal)
	impliedWrite = bsonx.NewDoc("w", modeMajority, "wtimeout", 0)
	impliedOne   = bsonx.NewDoc("w", 1, "wtimeout", 0)
)

// SetRead takes a read concern that was sent; an empty one takes back what was set.
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

// SetWrite takes a write concern that was sent.
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
	wc.Given = false // no command has given it
	d.WriteConcern = *wc
	return nil
}

// Document returns the defaults as they are kept.
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
