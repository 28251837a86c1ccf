package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// details builds the explanation of why a document does not match. The caller stops when the
// explanation exceeds limit bytes.
type details struct {
	*bsonx.Builder
	brief bool
	limit int
}

func (d *details) full() bool { return d.Len() > d.limit }

func (d *details) specifiedAs(spec bsonx.Doc) {
	if !d.brief {
		d.Doc("specifiedAs", spec)
	}
}
