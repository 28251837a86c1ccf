package filter

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/recorded"
)

var errCanonical = errors.New("the canonical filter differs")

// TestCanonicalOnVectors runs the filters of the recorded vectors on the documents of their setup.
// A filter, its canonical form, and the filter parsed from its serialised form must match the same
// documents. The test does not compare the recorded replies.
func TestCanonicalOnVectors(t *testing.T) {
	t.Parallel()
	filters := 0
	for _, area := range recorded.Areas(t) {
		for _, v := range recorded.Vectors(t, area) {
			var docs []bsonx.Doc
			for _, cmd := range v.Setup {
				for _, d := range bsonx.Doc(cmd).Lookup("documents").Doc().Values() {
					docs = append(docs, d.Doc())
				}
			}
			for _, step := range v.Run {
				cmd := bsonx.Doc(step.Command)
				if cmd.Lookup("filter").Type != bsonx.TypeDocument {
					continue
				}
				if _, err := runFind(docs, cmd); errors.Is(err, errCanonical) {
					t.Errorf("%s: %s: %v", v.Name, toJSON(cmd), err)
				}
				filters++
			}
		}
	}
	t.Logf("%d filters", filters)
}

func toJSON(doc bsonx.Doc) string {
	text, err := bson.MarshalExtJSON(bson.Raw(doc), false, false)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func runFind(docs []bsonx.Doc, cmd bsonx.Doc) ([]bsonx.Doc, error) {
	opts := FindOptions(expressions.Scope(), time.Unix(1_700_000_000, 0))
	if let := cmd.Lookup("let"); !let.IsMissing() {
		vars, err := expressions.Scope().WithLet(let.Doc(), time.Now())
		if err != nil {
			return nil, err
		}
		opts.Vars = vars
	}
	f, err := Parse(cmd.Lookup("filter").Doc(), opts)
	if err != nil {
		return nil, err
	}
	canonical := f.Normalize()
	again, err := reparse(canonical, opts)
	if err != nil {
		return nil, err
	}
	var out []bsonx.Doc
	for _, doc := range docs {
		ok, err := f.Match(doc)
		if err != nil {
			return nil, err
		}
		for _, other := range []*Filter{canonical, again} {
			if other == nil {
				continue
			}
			if same, err := other.Match(doc); same != ok || err != nil {
				return nil, fmt.Errorf("%w: %s", errCanonical, toJSON(Serialize(canonical.Root)))
			}
		}
		if ok {
			out = append(out, doc)
		}
	}
	sortByID(out)
	return out, nil
}

func sortByID(docs []bsonx.Doc) {
	slices.SortStableFunc(docs, func(a, b bsonx.Doc) int {
		return bsonx.CompareValues(a.Lookup("_id"), b.Lookup("_id"))
	})
}
