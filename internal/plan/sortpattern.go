package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
)

// sortPattern turns a checked sort document into a pattern.
func sortPattern(sort bsonx.Doc) index.Pattern {
	var p index.Pattern
	for it := sort.Iter(); it.Next(); {
		if meta := sortMeta(it.Value()); meta != "" {
			p = append(p, index.Field{Path: meta, Desc: true})
			continue
		}
		f, _ := it.Value().AsFloat64()
		p = append(p, index.Field{Path: string(it.Key()), Desc: f < 0})
	}
	return p
}
