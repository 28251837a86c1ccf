package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
)

// ImpliedConcern returns the write concern of commands without one where nothing was set: a
// majority, unless the server was started with less, or is no member of a set.
func (s *Service) ImpliedConcern() (WriteConcern, bsonx.Doc) {
	if s.ImpliedOne || !s.Replicates() {
		return WriteConcern{W: 1}, impliedOne
	}
	return WriteConcern{W: -1, Mode: modeMajority, Majority: true}, impliedWrite
}

// Append appends the defaults and their sources as getDefaultRWConcern shows them.
func (d *RWDefaults) Append(s *Service, b *bsonx.Builder) {
	read, readSource := d.read, "global"
	if read == nil {
		read, readSource = impliedRead, "implicit"
	}
	write, writeSource := d.Write, "global"
	if write == nil {
		_, write = s.ImpliedConcern()
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
