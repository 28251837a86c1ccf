package filter

import (
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/text"
)

// Text is $text. The text index of the collection determines the indexed strings and the default
// language. So the planner must bind the node to the index. An unbound node matches no document.
type Text struct {
	Search text.Search
	// Language is the language of the search, or "" for the default language of the index.
	Language string

	running *interrupt.Running // signals interrupts of the operation; nil never does
	bound   atomic.Pointer[boundText]
}

// boundText is a search bound to an index.
type boundText struct {
	query    *text.Query
	language *text.Language
	spec     *text.Spec
}

// Bind binds the node to an index, and returns the search. It fails if the language is unknown.
func (n *Text) Bind(s *text.Spec) (*text.Query, error) {
	if b := n.bound.Load(); b != nil && b.spec == s {
		return b.query, nil
	}
	l := s.Language()
	if n.Language != "" {
		var ok bool
		if l, ok = s.ParseLanguage(n.Language); !ok {
			return nil, mongoerr.New(mongoerr.BadValue,
				"unsupported language: %q for text index version %d", n.Language, s.Version())
		}
	}
	query, err := text.ParseQuery(n.Search, l, n.running)
	if err != nil {
		return nil, err
	}
	b := &boundText{query: query, language: l, spec: s}
	n.bound.Store(b)
	return b.query, nil
}

// Score returns the score of a document. ok is false if the document contains none of the words, or
// if the node is not bound.
func (n *Text) Score(doc bsonx.Doc) (score float64, ok bool) {
	b := n.bound.Load()
	if b == nil {
		return 0, false
	}
	return b.query.Score(b.spec, doc)
}

// Kind returns KindText.
func (*Text) Kind() Kind { return KindText }

func (n *Text) matchDoc(doc bsonx.Doc, _ *state) bool {
	b := n.bound.Load()
	return b != nil && b.query.Match(b.spec, doc)
}

// matchElem is never called, because the parser rejects $text inside $elemMatch.
func (*Text) matchElem(bsonx.Value, *state) bool { return false }

func (n *Text) serialize(b *serializer) {
	language := n.Language
	if bound := n.bound.Load(); language == "" && bound != nil {
		language = bound.language.Name()
	}
	b.StartDocField("$text")
	b.String("$search", n.Search.Text)
	b.String("$language", language)
	b.Bool("$caseSensitive", n.Search.CaseSensitive)
	b.Bool("$diacriticSensitive", n.Search.DiacriticSensitive)
	b.End()
}

// TextOf returns the $text of a tree, or nil. A tree has at most one.
func TextOf(n Node) *Text {
	var found *Text
	WalkNodes(n, func(n Node) bool {
		if t, ok := n.(*Text); ok {
			found = t
		}
		return found == nil
	})
	return found
}

func parseText(p *parser, _ string, v bsonx.Value, level level, _ int) (Node, error) {
	if level == levelElem {
		return nil, mongoerr.New(mongoerr.BadValue, "$text can only be applied to the top-level document")
	}
	if !p.opts.AllowText {
		return nil, mongoerr.New(mongoerr.BadValue, "$text is not allowed in this context")
	}
	if v.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.BadValue, "$text expects an object")
	}
	n := &Text{running: p.running}
	known := 0
	for _, f := range []struct {
		name string
		want bsonx.Type
		set  func(bsonx.Value)
	}{
		{"$search", bsonx.TypeString, func(v bsonx.Value) { n.Search.Text = v.Str() }},
		{"$language", bsonx.TypeString, func(v bsonx.Value) { n.Language = v.Str() }},
		{"$caseSensitive", bsonx.TypeBool, func(v bsonx.Value) { n.Search.CaseSensitive = v.Bool() }},
		{"$diacriticSensitive", bsonx.TypeBool, func(v bsonx.Value) { n.Search.DiacriticSensitive = v.Bool() }},
	} {
		option := v.Doc().Lookup(f.name)
		switch {
		case option.Type == f.want:
			f.set(option)
			known++
		case !option.IsMissing():
			return nil, mongoerr.New(mongoerr.TypeMismatch,
				"\"%s\" had the wrong type. Expected %s, found %s", f.name, f.want, option.Type)
		case f.name == "$search":
			return nil, mongoerr.New(mongoerr.NoSuchKey, "Missing expected field \"$search\"")
		}
	}
	if v.Doc().Len() > known {
		return nil, mongoerr.New(mongoerr.BadValue, "extra fields in $text")
	}
	p.texts++
	return n, nil
}

// checkTexts returns an error if the tree has more than one $text, or has one at a place where no
// index can answer it.
func (p *parser) checkTexts(root Node) error {
	if p.texts > 1 {
		return mongoerr.New(mongoerr.BadValue, "Too many text expressions")
	}
	if p.texts == 0 {
		return nil
	}
	var err error
	WalkNodes(root, func(n Node) bool {
		if n.Kind() == KindNor && TextOf(n) != nil {
			err = mongoerr.New(mongoerr.BadValue, "text expression not allowed in nor")
		}
		return err == nil
	})
	return err
}
