package command

import (
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/session"
)

// ending holds the generic arguments at the end of a connection's last command, as bytes and
// parsed. Drivers send these arguments last and mostly repeat them, so the next command with the
// same bytes need not parse them again.
type ending struct {
	bytes   []byte
	Generic Generic
	Seen    uint64 // bit set of the arguments, by index in GenericTable
	DB      string
}

// maxEnding is the largest ending in bytes that a connection keeps.
const maxEnding = 512

// recurring are the generic arguments that an ending may hold. Their parsed values do not refer to
// the bytes of a request.
var recurring = bitsOfGeneric("$db", "lsid", "$clusterTime", "$readPreference")

func bitsOfGeneric(names ...string) (bits uint64) {
	for _, name := range names {
		bits |= 1 << FindGeneric([]byte(name))
	}
	return bits
}

// Learn keeps the ending of a command if it holds only recurring arguments. The ending begins at
// offset at of the body; seen is the set of its arguments. It does not keep the ending of a write:
// a write advances $clusterTime, so the next command has other bytes.
func (e *ending) Learn(req *Request, at int, seen uint64) {
	if at == 0 || seen&^recurring != 0 || len(req.Body)-at > maxEnding ||
		req.Def.Writes == feature.Yes && !req.Def.Read {
		return
	}
	e.bytes = append(e.bytes[:0], req.Body[at:]...)
	e.Generic, e.Seen, e.DB = req.Generic, seen, req.DB
}

// Ending returns the bytes at the end of the connection's last command, for wire.ParseAfter.
func (c *Conn) Ending() []byte { return c.Last.bytes }

// idsAtOnce is the number of operation ids that a connection takes at a time. A shared counter that
// every command increments would move between the processors' caches each time.
const idsAtOnce = 16

// idBlock is the range of operation ids that a connection has taken and not used yet.
type idBlock struct{ next, end int64 }

func (b *idBlock) Take(ops *session.Ops) int64 {
	if b.next == b.end {
		b.next = ops.TakeIDs(idsAtOnce)
		b.end = b.next + idsAtOnce
	}
	b.next++
	return b.next - 1
}
