package write

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// scratch holds the buffers of one statement.
type scratch struct {
	key    []byte
	doc    bsonx.Doc
	target target
}

// maxScratch is the largest document buffer that is kept for another statement.
const maxScratch = 64 << 10

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func getScratch() *scratch { return scratches.Get().(*scratch) }

func putScratch(s *scratch) {
	s.target = target{}
	if cap(s.doc) > maxScratch {
		s.doc = nil
	}
	scratches.Put(s)
}
