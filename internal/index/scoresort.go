package index

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/keystring"
)

// ScorePath stands for the score of a text search in a sort pattern. No index has it.
const ScorePath = "$textScore"

// HasScore reports whether the score of a text search is among the fields of a sort pattern.
func (p Pattern) HasScore() bool { return p.score() >= 0 }

// score returns the position of the first score, or -1.
func (p Pattern) score() int {
	return slices.IndexFunc(p, func(f Field) bool { return f.Path == ScorePath })
}

// ScoreSortGen makes sort keys by a pattern with scores, the highest of which come first. Between two of them stand fields of the
// document. Like a SortKeyGen it is used by one goroutine at a time.
type ScoreSortGen struct{ parts []*SortKeyGen } // nil is the score

// NewScoreSortGen returns the generator of a sort pattern.
func NewScoreSortGen(p Pattern, c *collation.Collator) *ScoreSortGen {
	g := &ScoreSortGen{}
	for len(p) > 0 {
		n := p.score()
		switch n {
		case 0:
			g.parts, p = append(g.parts, nil), p[1:]
			continue
		case -1:
			n = len(p)
		}
		g.parts, p = append(g.parts, NewSortKeyGen(p[:n], c)), p[n:]
	}
	return g
}

// Append appends the sort key of a document with a score, which is null where it has none: such a document comes last. It fails
// as SortKeyGen.Append does.
func (g *ScoreSortGen) Append(dst []byte, doc bsonx.Doc, score bsonx.Value) (_ []byte, err error) {
	for _, gen := range g.parts {
		if gen == nil {
			dst = keystring.Append(dst, score, true)
		} else if dst, err = gen.Append(dst, doc); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// Values returns the values that a document sorts by, as SortKeyGen.Values does.
func (g *ScoreSortGen) Values(doc bsonx.Doc, score bsonx.Value) ([]bsonx.Value, error) {
	var out []bsonx.Value
	for _, gen := range g.parts {
		if gen == nil {
			out = append(out, score)
			continue
		}
		values, err := gen.Values(doc)
		if err != nil {
			return nil, err
		}
		out = append(out, values...)
	}
	return out, nil
}
