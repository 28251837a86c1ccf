package exec

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// ReturnedKey returns a Projector that replaces each row's document with its index key, as the
// option returnKey demands. The document is empty if the row does not come from an index.
func ReturnedKey() Projector {
	var fields EntryFields
	return func(dst []byte, row *Row) ([]byte, error) {
		out := bsonx.NewBuilder(dst)
		out.StartDoc()
		if row.Key != nil {
			values, err := fields.Decode(row)
			if err != nil {
				return nil, err
			}
			for i, f := range patternOf(row.Index) {
				out.Value(f.Path, values[i])
			}
		}
		out.End()
		return out.Bytes(), nil
	}
}
