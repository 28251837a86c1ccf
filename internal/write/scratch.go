package write

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// scratch holds the buffers of one statement.
type scratch struct {
	key    []byte
	doc    bsonx.Doc // the locked version of the target
	out    bsonx.Doc // buffer for the new version of the target
	target target
	// running is the operation of the statement.
	running interrupt.Running
}

// maxScratch is the size in bytes of the largest document buffer that is kept for the next
// statement.
const maxScratch = 64 << 10

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func getScratch() *scratch { return scratches.Get().(*scratch) }

func putScratch(s *scratch) {
	s.target, s.running = target{}, interrupt.Running{}
	if cap(s.doc) > maxScratch {
		s.doc = nil
	}
	if cap(s.out) > maxScratch {
		s.out = nil
	}
	scratches.Put(s)
}
