package query

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
)

// SortPattern turns a checked sort document into a pattern.
func SortPattern(sort bsonx.Doc) index.Pattern {
	var p index.Pattern
	for it := sort.Iter(); it.Next(); {
		if meta := MetaPath(it.Value()); meta != "" {
			p = append(p, index.Field{Path: meta, Desc: true})
			continue
		}
		f, _ := it.Value().AsFloat64()
		p = append(p, index.Field{Path: string(it.Key()), Desc: f < 0})
	}
	return p
}
