package indexinfo

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
)

// Hint is a parsed hint.
type Hint struct {
	Index    *Index // nil if the hint names no index
	Natural  int    // direction of a $natural hint (1 or -1), or 0
	Provided bool
}

// ParseHint resolves a hint among the indexes, which leave out hidden ones. It fails if the hint
// matches no index, or several.
func ParseHint(v bsonx.Value, c *table.Collection, indexes []*Index) (Hint, error) {
	switch v.Type {
	case bsonx.TypeMissing:
		return Hint{}, nil
	case bsonx.TypeString:
		for _, x := range indexes {
			if x.Name == v.Str() {
				return Hint{Index: x, Provided: true}, nil
			}
		}
		return Hint{}, badHint()
	case bsonx.TypeDocument:
	default:
		return Hint{}, mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
	if v.Doc().IsEmpty() {
		return Hint{}, nil
	}
	if dir, err := query.HintDirection(v); dir != 0 || err != nil {
		return Hint{Natural: dir, Provided: true}, err
	}
	var found *Index
	for _, x := range indexes {
		if bsonx.CompareDocs(x.Key, v.Doc()) != 0 {
			continue
		}
		if found != nil {
			return Hint{}, ambiguousHint(found, x)
		}
		found = x
	}
	if found == nil {
		return Hint{}, badHint()
	}
	return Hint{Index: found, Provided: true}, nil
}

func ambiguousHint(a, b *Index) error {
	return mongoerr.New(mongoerr.IndexNotFound, "error processing query: planner returned error :: caused by :: "+
		"Hint matched multiple indexes, must hint by index name. Matched: %s and %s", a.describe(), b.describe())
}

func badHint() error {
	return mongoerr.New(mongoerr.BadValue, "error processing query: planner returned error :: caused by :: "+
		"hint provided does not correspond to an existing index")
}
