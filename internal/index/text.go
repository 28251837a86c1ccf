package index

import (
	"crypto/md5" //nolint:gosec // no secret: it shortens long words as MongoDB does
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/text"
)

// The fields between the prefix fields and the suffix fields of a text index.
const (
	TextField  = "_fts"
	ScoreField = "_ftsx"
)

// A term of more than maxTerm bytes is stored as its first termPrefix bytes and a hash, as in
// version 3 of MongoDB's text indexes. These lengths are part of the format of stored entries.
const (
	maxTerm    = 256
	termPrefix = 224
)

// TextGen generates the keys of text indexes. A document has one key for each of its terms:
//
//	fields before, term, score, fields after
//
// So a backward scan of the entries of a term returns the best documents first.
type TextGen struct {
	spec    *text.Spec
	before  []extraField
	after   []extraField
	scorers sync.Pool // of *text.Scorer
}

// extraField is a field beside the text.
type extraField struct {
	path  string
	parts []string
	desc  bool
}

func textDefinition() Definition {
	return Definition{
		Name: "text", Compile: compileText,
		Properties: Properties{
			ByPaths: feature.No, Bounded: feature.No, Equality: feature.No,
			Unique: feature.Yes, ArrayPaths: feature.No,
			Geo: feature.No, JoinsValues: feature.No, StableAPI: feature.No,
			Collation: feature.No, AllPaths: feature.Yes, Several: feature.No,
			Series: NotOnSeries,
		},
	}
}

func compileText(s Spec) (Pattern, Generator, error) {
	spec, err := text.NewSpec(s.Options)
	if err != nil {
		return nil, nil, err
	}
	g := &TextGen{spec: spec, before: extraFields(spec.Before), after: extraFields(spec.After)}
	g.scorers.New = func() any { return new(text.Scorer) }
	// All fields have the kind Text: a document without words has no entries, so no field can stand
	// for a path.
	var p Pattern
	for _, f := range g.before {
		p = append(p, Field{Path: f.path, Desc: f.desc, Kind: Text})
	}
	p = append(p, Field{Path: TextField, Kind: Text}, Field{Path: ScoreField, Kind: Text})
	for _, f := range g.after {
		p = append(p, Field{Path: f.path, Desc: f.desc, Kind: Text})
	}
	return p, g, nil
}

func extraFields(of []bsonx.Elem) []extraField {
	var out []extraField
	for _, e := range of {
		path := string(e.Key)
		direction, _ := e.Value.AsFloat64()
		out = append(out, extraField{path, strings.Split(path, "."), direction < 0})
	}
	return out
}

// Spec returns the specification of the index: strings, weights and languages.
func (g *TextGen) Spec() *text.Spec { return g.spec }

// Generate implements Generator.
func (g *TextGen) Generate(doc bsonx.Doc, out *Keys) error {
	if n := len(g.before) + len(g.after) + 2; len(out.multikey) != n {
		out.multikey = make(MultikeyPaths, n)
	}
	before, err := values(nil, g.before, doc)
	if err != nil {
		return err
	}
	after, err := values(nil, g.after, doc)
	if err != nil {
		return err
	}
	sc := g.scorers.Get().(*text.Scorer)
	sc.Serve(out.running)
	defer func() {
		sc.Serve(nil)
		if !sc.IsLarge() {
			g.scorers.Put(sc)
		}
	}()
	if err := sc.Score(g.spec, doc); err != nil {
		return err
	}
	if err := holdKeys(sc, before, after); err != nil {
		return err
	}
	for i := range sc.Len() {
		term, score := sc.Term(i)
		start := out.begin()
		for k, v := range before {
			out.append(v, g.before[k].desc)
		}
		out.append(bsonx.String(TermKey(term)), false)
		out.append(bsonx.Double(score), false)
		for k, v := range after {
			out.append(v, g.after[k].desc)
		}
		out.finish(start)
	}
	if sc.Len() > 1 {
		out.multikey[len(g.before)] = 1
	}
	return out.sortUnique()
}

// holdKeys reserves the memory for the keys of all terms before they are made.
func holdKeys(sc *text.Scorer, before, after []bsonx.Value) error {
	each := keyOverhead
	for _, v := range slices.Concat(before, after) {
		each += len(v.Data)
	}
	n := 0
	for i := range sc.Len() {
		term, _ := sc.Term(i)
		n += each + min(len(term), maxTerm)
	}
	return sc.Hold(2 * n) // a growing buffer is copied
}

// Scores appends to dst the score of each term in a document, or 0 if the document does not have
// the term.
func (g *TextGen) Scores(dst []float64, terms []string, doc bsonx.Doc) ([]float64, error) {
	sc := g.scorers.Get().(*text.Scorer)
	defer g.scorers.Put(sc)
	if err := sc.Score(g.spec, doc); err != nil {
		return nil, err
	}
	for _, term := range terms {
		dst = append(dst, sc.ScoreOf(term))
	}
	return dst, nil
}

// values appends the values of the fields beside the text. An array on the path of a field is an
// error.
func values(dst []bsonx.Value, fields []extraField, doc bsonx.Doc) ([]bsonx.Value, error) {
	for i := range fields {
		v, ok := fields[i].value(doc)
		if !ok {
			return nil, mongoerr.New(mongoerr.CannotBuildIndexKeys, "Field '%s' of text index contains an array in document: %s",
				fields[i].path, bsonx.FormatShell(bsonx.Document(doc)))
		}
		dst = append(dst, v)
	}
	return dst, nil
}

// value returns the value at the field's path, or null if it is missing. It reports false if an
// array is on the path, unless the path selects an element of the array by position.
func (f *extraField) value(doc bsonx.Doc) (v bsonx.Value, ok bool) {
	v = bsonx.Document(doc)
	for _, part := range f.parts {
		switch v.Type {
		case bsonx.TypeDocument:
		case bsonx.TypeArray:
			if _, isIndex := bsonx.ArrayIndex(part); !isIndex {
				return bsonx.Null, false
			}
		default:
			return bsonx.Null, true
		}
		v = v.Doc().Lookup(part)
	}
	if v.IsMissing() {
		return bsonx.Null, true
	}
	return v, v.Type != bsonx.TypeArray
}

// TermKey returns a term as index keys hold it: shortened if it has more than maxTerm bytes.
func TermKey(term string) string {
	if len(term) <= maxTerm {
		return term
	}
	sum := md5.Sum([]byte(term)) //nolint:gosec // see the import
	return term[:termPrefix] + hex.EncodeToString(sum[:])
}
