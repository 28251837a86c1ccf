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

const CodeNotReplicated = mongoerr.Code(51300)

// rwDefaults are the read and write concern of commands that have none. They are immutable.
type rwDefaults struct {
	read  bsonx.Doc // as it was set; nil where it was not
	level string    // of read
	write bsonx.Doc
	// writeConcern is write, parsed.
	writeConcern WriteConcern
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

// impliedConcern returns the write concern of commands without one where nothing was set: a majority, unless the server was started with
// less, or is no member of a set.
func (s *Service) impliedConcern() (WriteConcern, bsonx.Doc) {
	if s.ImpliedOne || !s.Replicates() {
		return WriteConcern{W: 1}, impliedOne
	}
	return WriteConcern{W: -1, Mode: modeMajority, Majority: true}, impliedWrite
}

func (d *rwDefaults) Append(s *Service, b *bsonx.Builder) {
	read, readSource := d.read, "global"
	if read == nil {
		read, readSource = impliedRead, "implicit"
	}
	write, writeSource := d.write, "global"
	if write == nil {
		_, write = s.impliedConcern()
		writeSource = "implicit"
	}
	b.Doc("defaultReadConcern", read)
	b.Doc("defaultWriteConcern", write)
	if d.At != 0 {
		b.Value("updateOpTime", oplog.Timestamp(d.At))
		b.Date("updateWallClockTime", d.Wall.UnixMilli())
	}
	b.String("defaultWriteConcernSource", writeSource)
	b.String("defaultReadConcernSource", readSource)
	b.Date("localUpdateWallClockTime", d.Local.UnixMilli())
}

// SetRead takes a read concern that was sent; an empty one takes back what was set.
func (d *rwDefaults) SetRead(doc bsonx.Doc) error {
	if doc == nil {
		return nil
	}
	if doc.IsEmpty() {
		d.read, d.level = nil, ""
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
	d.read, d.level = doc.Clone(), g.ReadConcern.Level
	return nil
}

// SetWrite takes a write concern that was sent.
func (d *rwDefaults) SetWrite(doc bsonx.Doc) error {
	switch {
	case doc == nil:
		return nil
	case doc.IsEmpty() && d.write == nil:
		return nil
	case doc.IsEmpty():
		return mongoerr.New(mongoerr.IllegalOperation, "The global default write concern cannot be unset once it is set.")
	}
	var g Generic
	if err := setWriteConcern(&g, "", bsonx.Document(doc)); err != nil {
		return err
	}
	wc := &g.WriteConcern
	if wc.noW {
		wc.W = 1
	}
	if wc.Unacknowledged() {
		return mongoerr.New(mongoerr.BadValue, "Unacknowledged write concern is not suitable for the default write concern")
	}
	if err := wc.Unmet(); err != nil {
		return err
	}
	d.write = wc.Document("")
	wc.Given = false // no command has given it
	d.writeConcern = *wc
	return nil
}

// ApplyDefaults gives a command that has no read or write concern the ones that were set. In a transaction the first command may have
// the one, the last one the other.
func (s *Service) ApplyDefaults(d *Definition, g *Generic) {
	defaults := s.RWDefaults.Load()
	inTransaction := g.InTransaction()
	if defaults.level != "" && d.Read && g.ReadConcern.isEmpty() && (!inTransaction || g.StartTxn == BoolTrue) {
		g.ReadConcern.Level, g.ReadConcern.Default = defaults.level, true
	}
	if d.Write && (!inTransaction || EndsTransaction(d)) {
		s.applyDefaultConcern(defaults, &g.WriteConcern)
	}
}

// applyDefaultConcern fills in a write concern, or its w.
func (s *Service) applyDefaultConcern(defaults *rwDefaults, wc *WriteConcern) {
	if wc.Given && !wc.noW {
		return
	}
	preset := defaults.writeConcern
	if defaults.write == nil {
		preset, _ = s.impliedConcern()
	}
	if !wc.Given {
		*wc = preset
		return
	}
	wc.W, wc.Mode, wc.Tags, wc.Majority, wc.noW = preset.W, preset.Mode, preset.Tags, preset.Majority, false
}

// Document returns the defaults as they are kept.
func (d *rwDefaults) Document() bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("_id", defaultsID)
	if d.read != nil {
		b.Doc("defaultReadConcern", d.read)
	}
	if d.write != nil {
		b.Doc("defaultWriteConcern", d.write)
	}
	b.Value("updateOpTime", oplog.Timestamp(d.At))
	b.Date("updateWallClockTime", d.Wall.UnixMilli())
	b.End()
	return b.Bytes()
}

func (d *rwDefaults) load(doc bsonx.Doc) {
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
