package text

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// TestText runs testdata. terms prints the terms of each line in a language. query prints the
// parsed search of each line. spec sets an index. score prints the terms of each document with
// their scores. match prints for each search whether the last scored document matches.
func TestText(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		s := &state{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				out.WriteString(s.line(d, strings.TrimSuffix(line, "\n")) + "\n")
			}
			return out.String()
		})
	})
}

type state struct {
	t    *testing.T
	spec *Spec
	doc  bsonx.Doc
	sc   Scorer
}

func (s *state) line(d *datadriven.TestData, line string) string {
	name := DefaultLanguage
	if d.HasArg("language") {
		d.ScanArgs(s.t, "language", &name)
	}
	l, ok := ParseLanguage(name)
	if !ok {
		return "no such language"
	}
	search := Search{Text: line, CaseSensitive: d.HasArg("case"), DiacriticSensitive: d.HasArg("diacritics")}
	switch d.Cmd {
	case "terms":
		return strings.Join(terms(l, line), " ")
	case "query":
		q := parseQuery(s.t, search, l)
		return fmt.Sprintf("bounds %q terms %q not %q phrases %q not %q", q.Bounds, q.Terms,
			q.Negated, q.Phrases, q.NegatedPhrases)
	case "spec":
		spec, err := NewSpec(bsonxtest.Parse(s.t, line))
		if err != nil {
			return err.Error()
		}
		s.spec = spec
		return spec.Language().Name()
	case "score":
		return s.score(line)
	case "match":
		q := parseQuery(s.t, search, l)
		return fmt.Sprint(q.Match(s.spec, s.doc), q.IsExact())
	default:
		s.t.Fatalf("unknown command %s", d.Cmd)
		return ""
	}
}

func (s *state) score(line string) string {
	s.doc = bsonxtest.Parse(s.t, line)
	if err := s.sc.Score(s.spec, s.doc); err != nil {
		return err.Error()
	}
	var out []string
	for i := range s.sc.Len() {
		term, score := s.sc.Term(i)
		out = append(out, fmt.Sprintf("%s:%v", term, score))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func terms(l *Language, str string) []string {
	var out []string
	for word, rest := l.nextWord([]byte(str)); len(word) > 0; word, rest = l.nextWord(rest) {
		if !l.isStopWord(word) {
			out = append(out, l.term(word, 0))
		}
	}
	return out
}

// TestLanguages checks that every language has a name, a code and stop words.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"da", "nl", "en", "fi", "fr", "de", "hu", "it", "nb", "pt",
		"ro", "ru", "es", "sv", "tr",
	} {
		l, ok := ParseLanguage(strings.ToUpper(code))
		if !ok || len(l.stops) < 90 || l.stem == nil {
			t.Errorf("%s: found %v", code, ok)
			continue
		}
		if byName, _ := ParseLanguage(l.Name()); byName != l {
			t.Errorf("%s is not found by its name %s", code, l.Name())
		}
	}
	for _, bad := range []string{"", "klingon", "no", "eng", "porter"} {
		if _, ok := ParseLanguage(bad); ok {
			t.Errorf("%q is a language", bad)
		}
	}
}

// TestLongWords checks that a string of megabytes without a delimiter is an ordinary word.
func TestLongWords(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("ay", 1<<17)
	for name, l := range languages {
		if got := terms(l, word+" "+word[:10]); len(got) != 2 || got[0] != word {
			t.Errorf("%s: %d terms", name, len(got))
		}
	}
}

// TestScorerForgets checks that a scorer that has seen more words than it remembers continues with
// the same scores.
func TestScorerForgets(t *testing.T) {
	t.Parallel()
	spec, err := NewSpec(bsonx.NewDoc("key", bsonx.NewDoc("_fts", "text", "_ftsx", 1), "weights", bsonx.NewDoc("s", 2)))
	if err != nil {
		t.Fatal(err)
	}
	var sc Scorer
	var long strings.Builder
	for i := range maxWords + 10 {
		fmt.Fprintf(&long, "w%d ", i)
	}
	for _, str := range []string{"tea pot", long.String(), "tea pot", "tea tea pot"} {
		if err := sc.Score(spec, bsonx.NewDoc("s", str)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]float64{}
	for i := range sc.Len() {
		term, score := sc.Term(i)
		got[term] = score
	}
	if len(got) != 2 || got["tea"] != 2*1.5*(0.5*2/3+0.5) || got["pot"] != 2*(0.5/3+0.5) {
		t.Errorf("scores %v", got)
	}
	if len(sc.terms) > 10 {
		t.Errorf("%d terms are remembered", len(sc.terms))
	}
}

func parseQuery(t *testing.T, s Search, l *Language) *Query {
	t.Helper()
	q, err := ParseQuery(s, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestParseEndsWithItsOperation checks that splitting and stemming a very long search stops when
// its operation ends.
func TestParseEndsWithItsOperation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var running interrupt.Running
	running.Set(ctx)
	l, _ := ParseLanguage("english")
	if _, err := ParseQuery(Search{Text: strings.Repeat("word ", 100_000)}, l,
		&running); !errors.Is(err, context.Canceled) {
		t.Errorf("a search of an operation that has ended: %v", err)
	}
}
