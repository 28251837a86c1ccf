package exec

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keystring"
)

// EntryKey returns a KeyFunc that builds the sort key of a row from its index entry. The index of
// every row must contain all fields of the sort.
func EntryKey(sort index.Pattern) KeyFunc {
	var value []byte
	return func(dst []byte, row *Row) ([]byte, error) {
		for _, s := range sort {
			rest := row.Key
			for _, f := range patternOf(row.Index) {
				size, err := keystring.Skip(rest, f.Desc)
				if err != nil {
					return nil, err
				}
				value, rest = rest[:size], rest[size:]
				if !f.Holds(s.Path) {
					continue
				}
				dst = append(dst, value...)
				if f.Desc != s.Desc {
					invert(dst[len(dst)-size:])
				}
				break
			}
		}
		return dst, nil
	}
}

// invert turns the encoding of an ascending value into the encoding of a descending one, and back.
func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// DocumentKey returns a KeyFunc that builds the sort key of a row from its document.
func DocumentKey(sort index.Pattern, c *collation.Collator) KeyFunc {
	gen := index.NewSortKeyGen(sort, c)
	return func(dst []byte, row *Row) ([]byte, error) { return gen.Append(dst, bsonx.Doc(row.Doc)) }
}
