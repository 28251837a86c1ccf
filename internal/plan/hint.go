package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// hint is a parsed hint.
type hint struct {
	index    *indexInfo // nil: none
	natural  int        // 1, -1, or 0
	provided bool
}

// parseHint resolves a hint against all indexes, hidden ones excepted.
func parseHint(v bsonx.Value, c *table.Collection, indexes []*indexInfo) (hint, error) {
	switch v.Type {
	case bsonx.TypeMissing:
		return hint{}, nil
	case bsonx.TypeString:
		for _, x := range indexes {
			if x.name == v.Str() {
				return hint{index: x, provided: true}, nil
			}
		}
		return hint{}, badHint()
	case bsonx.TypeDocument:
	default:
		return hint{}, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
	if v.Doc().IsEmpty() {
		return hint{}, nil
	}
	if dir, err := naturalHint(v); dir != 0 || err != nil {
		return hint{natural: dir, provided: true}, err
	}
	var found *indexInfo
	for _, x := range indexes {
		if bsonx.CompareDocs(x.key, v.Doc()) != 0 {
			continue
		}
		if found != nil {
			return hint{}, ambiguousHint(found, x)
		}
		found = x
	}
	if found == nil {
		return hint{}, badHint()
	}
	return hint{index: found, provided: true}, nil
}

func ambiguousHint(a, b *indexInfo) error {
	return mongoerr.New(mongoerr.IndexNotFound, "error processing query: planner returned error :: caused by :: "+
		"Hint matched multiple indexes, must hint by index name. Matched: %s and %s", a.describe(), b.describe())
}

func badHint() error {
	return mongoerr.New(mongoerr.BadValue, "error processing query: planner returned error :: caused by :: "+
		"hint provided does not correspond to an existing index")
}
