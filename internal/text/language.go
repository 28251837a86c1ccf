package text

import (
	"embed"
	"fmt"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// Language has the rules for finding words and stems.
type Language struct {
	name string
	// stem is nil if the language has no stemmer.
	stem func(*snowballstem.Env) bool
	// stops are the stop words, in lower case.
	stops map[string]bool
	// apostrophe means that an apostrophe is part of a word.
	apostrophe bool
	// dotless means that the lower case of I is ı.
	dotless bool
	// ascii is set for text indexes before version 3. Only ASCII letters have upper and lower case,
	// only ASCII characters separate words, and diacritics are kept.
	ascii bool
	// older is the same language with ascii set.
	older *Language
}

// Name returns the language's English name, or "none".
func (l *Language) Name() string { return l.name }

// DefaultLanguage is the language of an index whose specification does not name one.
const DefaultLanguage = "english"

// ParseLanguage returns the language for a name or an ISO 639-1 code, in upper or lower case. It
// reports false if the language is unknown.
func ParseLanguage(name string) (*Language, bool) {
	l, ok := languages[strings.ToLower(name)]
	return l, ok
}

// languages are the languages by name and code.
var languages = loadLanguages()

//go:embed stopwords/*.txt
var stopwords embed.FS

func loadLanguages() map[string]*Language {
	out := map[string]*Language{"none": {name: "none"}}
	for _, def := range []struct {
		name, code string
		stem       func(*snowballstem.Env) bool
	}{
		{"danish", "da", danish.Stem},
		{"dutch", "nl", dutch.Stem},
		{"english", "en", english.Stem},
		{"finnish", "fi", finnish.Stem},
		{"french", "fr", french.Stem},
		{"german", "de", german.Stem},
		{"hungarian", "hu", stemHungarian},
		{"italian", "it", italian.Stem},
		{"norwegian", "nb", norwegian.Stem},
		{"portuguese", "pt", portuguese.Stem},
		{"romanian", "ro", romanian.Stem},
		{"russian", "ru", russian.Stem},
		{"spanish", "es", spanish.Stem},
		{"swedish", "sv", swedish.Stem},
		{"turkish", "tr", turkish.Stem},
	} {
		l := &Language{
			name: def.name, stem: def.stem, stops: loadStopWords(def.name),
			apostrophe: def.name == "english", dotless: def.name == "turkish",
		}
		out[def.name], out[def.code] = l, l
	}
	for _, l := range out {
		older := *l
		older.ascii, older.dotless = true, false
		l.older = &older
	}
	return out
}

// hungarianLetters swaps ő and ű with the letters that replace them in Latin-1.
var hungarianLetters = strings.NewReplacer("ő", "õ", "õ", "ő", "ű", "û", "û", "ű")

// stemHungarian recognises endings as MongoDB does. MongoDB's stemmer is from the time when the
// algorithm used õ and û for ő and ű.
func stemHungarian(env *snowballstem.Env) bool {
	env.SetCurrent(hungarianLetters.Replace(env.Current()))
	ok := hungarian.Stem(env)
	env.SetCurrent(hungarianLetters.Replace(env.Current()))
	return ok
}

// loadStopWords reads the stop words of a language. They are the subset of the Snowball project's
// list that MongoDB uses.
func loadStopWords(language string) map[string]bool {
	list, err := stopwords.ReadFile("stopwords/" + language + ".txt")
	if err != nil {
		panic(fmt.Sprintf("text: the stop words are part of the program: %v", err))
	}
	out := make(map[string]bool)
	for word := range strings.FieldsSeq(string(list)) {
		out[word] = true
	}
	return out
}
