package bsonx_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

func TestWithAndWithout(t *testing.T) {
	doc := bsonx.NewDoc("a", 1, "b", 2, "c", 3)
	for name, test := range map[string]struct{ got, want bsonx.Doc }{
		"replace":       {doc.With("b", bsonx.Int32(5)), bsonx.NewDoc("a", 1, "b", 5, "c", 3)},
		"append":        {doc.With("d", bsonx.Int32(5)), bsonx.NewDoc("a", 1, "b", 2, "c", 3, "d", 5)},
		"remove":        {doc.With("b", bsonx.Missing), bsonx.NewDoc("a", 1, "c", 3)},
		"remove none":   {doc.With("d", bsonx.Missing), doc},
		"without some":  {doc.Without("a", "c", "x"), bsonx.NewDoc("b", 2)},
		"without none":  {doc.Without(), doc},
		"without empty": {bsonx.Empty.Without("a"), bsonx.Empty},
	} {
		if !test.got.Equal(test.want) {
			t.Errorf("%s: got %v, want %v", name, bsonx.FormatShell(bsonx.Document(test.got)),
				bsonx.FormatShell(bsonx.Document(test.want)))
		}
	}
}
