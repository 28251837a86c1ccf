package command

import (
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/session"
)

// ending is how the last command of a connection ended: with the generic arguments, which drivers
// send after all others, and which are mostly the same as those of the command before. What they
// say is kept with their bytes, so that they are read once.
type ending struct {
	bytes   []byte
	Generic Generic
	Seen    uint64 // bit set of genericTable
	DB      string
}

// maxEnding is how long an ending is that is kept.
const maxEnding = 512

// recurring are the generic arguments that may be kept: those that refer to no bytes of the
// request.
var recurring = bitsOfGeneric("$db", "lsid", "$clusterTime", "$readPreference")

func bitsOfGeneric(names ...string) (bits uint64) {
	for _, name := range names {
		bits |= 1 << FindGeneric([]byte(name))
	}
	return bits
}

// Learn keeps the ending of a command that begins at a place of its body and has the arguments of
// seen. Commands that write move the cluster time on: their endings do not come again.
func (e *ending) Learn(req *Request, at int, seen uint64) {
	if at == 0 || seen&^recurring != 0 || len(req.Body)-at > maxEnding || req.Def.Writes == feature.Yes && !req.Def.Read {
		return
	}
	e.bytes = append(e.bytes[:0], req.Body[at:]...)
	e.Generic, e.Seen, e.DB = req.Generic, seen, req.DB
}

// Ending returns how the last command of the connection ended; see wire.ParseAfter.
func (c *Conn) Ending() []byte { return c.Last.bytes }

// idsAtOnce is how many numbers of operations a connection takes at once: a counter that every
// command adds to moves between the processors' caches each time.
const idsAtOnce = 16

// idBlock is what a connection has left of the numbers that it took.
type idBlock struct{ next, end int64 }

func (b *idBlock) Take(ops *session.Ops) int64 {
	if b.next == b.end {
		b.next = ops.TakeIDs(idsAtOnce)
		b.end = b.next + idsAtOnce
	}
	b.next++
	return b.next - 1
}
