package text

import (
	"fmt"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The errors of documents that cannot be indexed.
const (
	codeLanguageType    = mongoerr.Code(17261)
	codeLanguageUnknown = mongoerr.Code(17262)
)

// wildcard is the path for all strings.
const wildcard = "$**"

// defaultWeight is the weight of strings whose path has no weight.
const defaultWeight = 1

// Spec says which strings of a document a text index covers.
type Spec struct {
	// Before and After are the paths of the fields before and after the text in the key.
	Before, After []bsonx.Elem

	root     *field
	wildcard bool
	language *Language
	override string
	version  int
}

// The versions of text indexes. Version 1 treats an unknown language as "none", and looks for the
// language of a document only at its top level.
const (
	OldestVersion = 1
	NewestVersion = 3

	foldingVersion = 3 // from this version on, case and diacritics follow Unicode
)

// field is a component of the paths that have a weight.
type field struct {
	weight float64 // 0 if the path has no weight
	below  map[string]*field
}

// NewSpec reads the specification of an index from the catalog, where it is checked and has all
// defaults.
func NewSpec(spec bsonx.Doc) (*Spec, error) {
	s := &Spec{root: new(field), override: "language", version: NewestVersion}
	if n, ok := spec.Lookup("textIndexVersion").AsInt64(); ok {
		s.version = int(n)
	}
	if v := spec.Lookup("language_override"); v.Type == bsonx.TypeString {
		s.override = v.Str()
	}
	name := DefaultLanguage
	if v := spec.Lookup("default_language"); v.Type == bsonx.TypeString {
		name = v.Str()
	}
	language, ok := s.ParseLanguage(name)
	if !ok {
		return nil, fmt.Errorf("text index in the unknown language %q", name)
	}
	s.language = language
	s.readKey(spec.Lookup("key").Doc())
	if w := spec.Lookup("weights"); w.Type == bsonx.TypeDocument {
		for it := w.Doc().Iter(); it.Next(); {
			weight, _ := it.Value().AsFloat64()
			s.add(string(it.Key()), weight)
		}
	}
	return s, nil
}

func (s *Spec) readKey(key bsonx.Doc) {
	behind := false
	for it := key.Iter(); it.Next(); {
		path, e := string(it.Key()), it.Elem()
		switch {
		case path == "_fts" || path == "_ftsx":
			behind = true
		case e.Value.Type == bsonx.TypeString:
			behind = true
			s.add(path, defaultWeight)
		case behind:
			s.After = append(s.After, e)
		default:
			s.Before = append(s.Before, e)
		}
	}
}

func (s *Spec) add(path string, weight float64) {
	if path == wildcard {
		s.wildcard = true
		return
	}
	at := s.root
	for part := range strings.SplitSeq(path, ".") {
		if at.below == nil {
			at.below = make(map[string]*field)
		}
		if at.below[part] == nil {
			at.below[part] = new(field)
		}
		at = at.below[part]
	}
	at.weight = weight
}

// Language returns the default language, for documents that do not name one.
func (s *Spec) Language() *Language { return s.language }

// Version returns the version of the index.
func (s *Spec) Version() int { return s.version }

// ParseLanguage returns the language for a name or code by the rules of the index's version. It
// reports false if the language is unknown.
func (s *Spec) ParseLanguage(name string) (*Language, bool) {
	l, ok := ParseLanguage(name)
	if !ok && s.version == OldestVersion {
		l, ok = languages["none"], true
	}
	if ok && s.version < foldingVersion {
		l = l.older
	}
	return l, ok
}

// walk calls f for each string of a document that the index covers, until f returns false. It fails
// if the document names an unknown language.
func (s *Spec) walk(doc bsonx.Doc, f func(l *Language, str []byte, weight float64) bool) error {
	w := walker{spec: s, use: f}
	w.document(doc, s.root, s.language, false)
	return w.err
}

type walker struct {
	spec *Spec
	use  func(l *Language, str []byte, weight float64) bool
	done bool
	err  error
}

// document walks a document or an array. at is the field at its path, or nil if no weight concerns
// the path.
func (w *walker) document(doc bsonx.Doc, at *field, l *Language, isArray bool) {
	if !isArray && (at == w.spec.root || w.spec.version > OldestVersion) {
		if l = w.languageOf(doc, l); l == nil {
			return
		}
	}
	for it := doc.Iter(); it.Next() && !w.done; {
		below := at
		if !isArray {
			if w.spec.wildcard && string(it.Key()) == w.spec.override {
				continue
			}
			below = at.step(it.Key())
		}
		if below == nil && !w.spec.wildcard {
			continue
		}
		w.value(it.Value(), below, l, isArray)
	}
}

func (w *walker) value(v bsonx.Value, at *field, l *Language, inArray bool) {
	switch v.Type {
	case bsonx.TypeString:
		if weight := at.weightOf(); weight > 0 {
			w.done = !w.use(l, v.StrBytes(), weight)
		} else if w.spec.wildcard {
			w.done = !w.use(l, v.StrBytes(), defaultWeight)
		}
	case bsonx.TypeDocument:
		if w.spec.wildcard || len(at.below) > 0 {
			w.document(v.Doc(), at, l, false)
		}
	case bsonx.TypeArray:
		if w.spec.wildcard || !inArray {
			w.document(v.Doc(), at, l, true)
		}
	default: // only strings have words
	}
}

// step returns the field for a name, or nil.
func (f *field) step(name []byte) *field {
	if f == nil {
		return nil
	}
	return f.below[string(name)]
}

func (f *field) weightOf() float64 {
	if f == nil {
		return 0
	}
	return f.weight
}

// languageOf returns the language that a document names, or the language of the enclosing document
// if it names none. It returns nil after an error.
func (w *walker) languageOf(doc bsonx.Doc, outer *Language) *Language {
	v := doc.Lookup(w.spec.override)
	if v.IsMissing() {
		return outer
	}
	if v.Type != bsonx.TypeString {
		if w.spec.version == OldestVersion {
			return outer
		}
		return w.fail(mongoerr.New(codeLanguageType, "found language override field in document with non-string type"))
	}
	l, ok := w.spec.ParseLanguage(v.Str())
	if !ok {
		return w.fail(mongoerr.New(codeLanguageUnknown, "language override unsupported: %s", v.Str()))
	}
	return l
}

func (w *walker) fail(err error) *Language {
	w.err, w.done = err, true
	return nil
}
