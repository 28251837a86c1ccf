package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// FuzzQuery checks that a document that consists of a search's words has one of its terms, and that
// a search for a document's own words finds it. Words and stems must not fail in any language.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		`coffee -shop "a cake"`, `-a-b "c`, `"" -""`, `"x"-"y" --z`, "l'eau d’été", "Café con leche",
		"İstanbul ışık I", "őű õû ß ẞ ǰ",
		"日本語 です。", "a\u0301b e\u0300", "don't CAN'T 'quoted'", "Ꭰᏸ ꭰ", "\x00 \u2028 \ufeff", "running-runner_ran",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaa",
	} {
		f.Add(s, "english")
		f.Add(s, "tr")
		f.Add(s, "hungarian")
		f.Add(s, "fr")
		f.Add(s, "none")
	}
	f.Fuzz(func(t *testing.T, s, language string) {
		l, ok := ParseLanguage(language)
		if !ok || !utf8.ValidString(s) {
			return
		}
		spec, err := NewSpec(bsonx.NewDoc("key", bsonx.NewDoc("_fts", "text", "_ftsx", 1), "weights",
			bsonx.NewDoc("s", 1), "default_language", l.Name()))
		if err != nil {
			t.Fatal(err)
		}
		doc := bsonx.NewDoc("s", s)
		var sc Scorer
		if err := sc.Score(spec, doc); err != nil {
			t.Fatal(err)
		}
		var indexed []string
		for i := range sc.Len() {
			term, score := sc.Term(i)
			if score <= 0 || score > 4 {
				t.Fatalf("%q: score %v", term, score)
			}
			indexed = append(indexed, term)
		}
		slices.Sort(indexed)
		plainWords := strings.NewReplacer("-", " ", `"`, " ").Replace(s)
		q := parseQuery(t, Search{Text: plainWords}, l)
		if !q.IsExact() || !slices.Equal(q.Bounds, indexed) {
			t.Fatalf("terms %q, indexed %q", q.Bounds, indexed)
		}
		for sp := range 4 {
			q := parseQuery(t, Search{Text: s, CaseSensitive: sp&1 > 0, DiacriticSensitive: sp&2 > 0}, l)
			if q.Match(spec, doc) && !hasOne(indexed, q.Bounds) {
				t.Fatalf("a match without any of %q", q.Bounds)
			}
			if hasOne(indexed, q.Bounds) && q.Match(spec, doc) != q.MatchRest(spec, doc) {
				t.Fatal("Match and MatchRest differ")
			}
		}
	})
}

func hasOne(sorted, of []string) bool {
	return slices.ContainsFunc(of, func(s string) bool {
		_, ok := slices.BinarySearch(sorted, s)
		return ok
	})
}
