package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/index"
)

const metaTextScore = "textScore"

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
	pattern := sortPattern(sort)
	if !pattern.HasScore() {
		return exec.DocumentKey(pattern, c)
	}
	gen := index.NewScoreSortGen(pattern, c)
	return func(dst []byte, row *exec.Row) ([]byte, error) { return gen.Append(dst, row.Doc, scoreOf(row)) }
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
