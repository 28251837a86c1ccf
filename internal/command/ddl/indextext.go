package ddl

import (
	"maps"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/text"
)

// textOptions are the options of text indexes that are stored with their defaults, after all other
// options.
var textOptions = []string{"weights", "default_language", "language_override", "textIndexVersion"}

// completeText checks the specification of a text index and converts it to its stored form. In the
// key, _fts and _ftsx replace the text fields. The option weights lists the text fields.
func (s *indexSpec) completeText() error {
	t := textSpec{weights: make(map[string]int32)}
	if err := t.readKey(s.key); err != nil {
		return err
	}
	if err := t.readWeights(s.raw.Lookup("weights")); err != nil {
		return err
	}
	override, err := textOption(s.raw, "language_override", "language", isOverride)
	if err != nil {
		return err
	}
	version := int32(text.NewestVersion)
	if v := s.raw.Lookup("textIndexVersion"); !v.IsMissing() {
		if version = v.SaturatingInt32(); version < text.OldestVersion || version > text.NewestVersion {
			return cannotCreate("bad textIndexVersion: %d", version)
		}
	}
	language, err := textOption(s.raw, "default_language", text.DefaultLanguage, func(name string) bool {
		_, ok := text.ParseLanguage(name)
		return ok || version == text.OldestVersion
	})
	if err != nil {
		return err
	}
	s.key = t.key()
	s.text = bsonx.NewDoc("weights", t.sortedWeights(), "default_language", language, "language_override",
		override, "textIndexVersion", version)
	return nil
}

func textOption(raw bsonx.Doc, name, fallback string, valid func(string) bool) (string, error) {
	v := raw.Lookup(name)
	if v.IsMissing() {
		return fallback, nil
	}
	if !valid(v.Str()) {
		return "", cannotCreate("%s is not valid", name)
	}
	return v.Str(), nil
}

func isOverride(name string) bool {
	return name != "" && name[0] != '$' && !strings.Contains(name, ".")
}

// textSpec holds the fields of a text index: the fields before and after the text fields, and the
// text fields with their weights.
type textSpec struct {
	before, after []bsonx.Elem
	weights       map[string]int32
}

// readKey divides the key pattern into the text fields and the fields before and after them.
func (t *textSpec) readKey(key bsonx.Doc) error {
	inText, stored := false, false
	for it := key.Iter(); it.Next(); {
		path, e := string(it.Key()), it.Elem()
		isString := e.Value.Type == bsonx.TypeString
		isText := index.FieldKind(path, e.Value) == index.Text
		switch {
		case isString && !isText:
			return cannotCreate("Can't use more than one index plugin for a single index.")
		case isText && inText && len(t.after) > 0:
			return cannotCreate("'text' fields in index must all be adjacent")
		case isText && path == index.TextField:
			inText, stored = true, true
			if !it.Next() || string(it.Key()) != index.ScoreField {
				return cannotCreate("expected _ftsx after _fts")
			}
		case path == index.TextField || path == index.ScoreField:
			return cannotCreate("text index with reserved fields _fts/_ftsx not allowed")
		case isText && stored:
			return cannotCreate("'text' fields in index must all be adjacent")
		case isText:
			if strings.HasSuffix(path, ".$**") {
				return cannotCreate("Index key contains an illegal field name: field name starts with '$'.")
			}
			inText = true
			t.weights[path] = 1
		default:
			if n, ok := e.Value.AsInt64(); !ok || n != 1 && n != -1 {
				return cannotCreate("expected value 1 or -1 for non-text key in compound index")
			}
			if inText {
				t.after = append(t.after, e)
			} else {
				t.before = append(t.before, e)
			}
		}
	}
	return nil
}

func (t *textSpec) readWeights(v bsonx.Value) error {
	switch {
	case v.Type == bsonx.TypeString && v.Str() == "$**":
		t.weights["$**"] = 1
	case v.Type == bsonx.TypeString || v.Type == bsonx.TypeArray:
		return cannotCreate("text index option 'weights' must be an object")
	case v.Type == bsonx.TypeDocument:
		for it := v.Doc().Iter(); it.Next(); {
			path := string(it.Key())
			if !it.Value().Type.IsNumber() {
				return cannotCreate("weight for text index needs numeric type")
			}
			n := it.Value().SaturatingInt32()
			if n <= 0 || n > limits.TextWeight {
				return cannotCreate("text index weight must be in the exclusive interval (0,%d) but found: %d",
					limits.TextWeight+1, n)
			}
			if err := checkWeightPath(path); err != nil {
				return err
			}
			t.weights[path] = n
		}
	}
	if len(t.weights) == 0 {
		return cannotCreate("text index option 'weights' must specify fields or the wildcard")
	}
	return nil
}

func checkWeightPath(path string) error {
	switch path {
	case "":
		return cannotCreate("weight cannot be on an empty field")
	case "$**":
		return nil
	}
	for part := range strings.SplitSeq(path, ".") {
		switch {
		case part == "":
			return cannotCreate("weight cannot have empty path component")
		case part[0] == '$':
			return cannotCreate("weight cannot have path component with $ prefix")
		}
	}
	return nil
}

// key returns the key pattern in its stored form.
func (t *textSpec) key() bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, e := range t.before {
		b.ValueBytes(e.Key, e.Value)
	}
	b.String(index.TextField, index.Text.Definition().Name)
	b.Int32(index.ScoreField, 1)
	for _, e := range t.after {
		b.ValueBytes(e.Key, e.Value)
	}
	b.End()
	return b.Bytes()
}

func (t *textSpec) sortedWeights() bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, path := range slices.Sorted(maps.Keys(t.weights)) {
		b.Int32(path, t.weights[path])
	}
	b.End()
	return b.Bytes()
}
