package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
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
