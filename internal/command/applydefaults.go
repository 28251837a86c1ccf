package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
)

// ImpliedConcern returns the write concern that applies if neither the command nor
// setDefaultRWConcern gave one. It is w: "majority". It is w: 1 if Deps.ImpliedOne is set or the
// server is standalone. The second result is the same concern as a document.
func (s *Service) ImpliedConcern() (WriteConcern, bsonx.Doc) {
	if s.ImpliedOne || !s.Replicates() {
		return WriteConcern{W: 1}, impliedOne
	}
	return WriteConcern{W: -1, Mode: ModeMajority, Majority: true}, impliedWrite
}

// Append appends the default concerns and their sources in the format of getDefaultRWConcern.
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
