package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keystring"
)

const (
	metaTextScore = "textScore"
	// scorePath stands for the score of a text search among the paths of a sort. No index has it.
	scorePath = "$" + metaTextScore
)

// isScore reports whether a value of a sort pattern asks for the order of the scores.
func isScore(v bsonx.Value) bool {
	if v.Type != bsonx.TypeDocument {
		return false
	}
	kind := v.Doc().Lookup("$meta")
	return kind.Type == bsonx.TypeString && kind.Str() == metaTextScore
}

// hasScore reports whether a sort pattern has a score.
func hasScore(sort bsonx.Doc) bool {
	for it := sort.Iter(); it.Next(); {
		if isScore(it.Value()) {
			return true
		}
	}
	return false
}

// sortKey returns what makes the sort keys of rows by a checked pattern.
func sortKey(sort bsonx.Doc, c *collation.Collator) exec.KeyFunc {
	if !hasScore(sort) {
		return exec.DocumentKey(sortPattern(sort), c)
	}
	parts := scoreSortOf(sort, c)
	return func(dst []byte, row *exec.Row) (_ []byte, err error) {
		for _, p := range parts {
			if p.gen == nil {
				dst = keystring.Append(dst, scoreOf(row), true)
				continue
			}
			if dst, err = p.gen.Append(dst, row.Doc); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
}

// scorePart is the score, or where gen is not nil the fields of a sort between two scores.
type scorePart struct{ gen *index.SortKeyGen }

func scoreSortOf(sort bsonx.Doc, c *collation.Collator) []scorePart {
	var parts []scorePart
	var fields index.Pattern
	flush := func() {
		if len(fields) > 0 {
			parts = append(parts, scorePart{index.NewSortKeyGen(fields, c)})
			fields = nil
		}
	}
	for it := sort.Iter(); it.Next(); {
		if isScore(it.Value()) {
			flush()
			parts = append(parts, scorePart{})
			continue
		}
		f, _ := it.Value().AsFloat64()
		fields = append(fields, index.Field{Path: string(it.Key()), Desc: f < 0})
	}
	flush()
	return parts
}

// sortValues returns the values that a row is sorted by.
func sortValues(parts []scorePart, row *exec.Row) ([]bsonx.Value, error) {
	var out []bsonx.Value
	for _, p := range parts {
		if p.gen == nil {
			out = append(out, scoreOf(row))
			continue
		}
		values, err := p.gen.Values(row.Doc)
		if err != nil {
			return nil, err
		}
		out = append(out, values...)
	}
	return out, nil
}

// scoreOf returns the score of a row; null, which comes last, where it was found by other means than its words.
func scoreOf(row *exec.Row) bsonx.Value {
	if !row.Scored {
		return bsonx.Null
	}
	return bsonx.Double(row.Score)
}

// shownPattern returns a sort pattern as explain prints it: a score has no path.
func shownPattern(sort bsonx.Doc) bsonx.Doc {
	if !hasScore(sort) {
		return sort
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	scores := 0
	for it := sort.Iter(); it.Next(); {
		if isScore(it.Value()) {
			b.Value("$computed"+bsonx.IndexKey(scores), it.Value())
			scores++
			continue
		}
		b.ValueBytes(it.Key(), it.Value())
	}
	b.End()
	return b.Bytes()
}
