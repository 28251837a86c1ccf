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

// Language is how words are found and stemmed.
type Language struct {
	name string
	// stem is nil where words stay as they are.
	stem func(*snowballstem.Env) bool
	// stops are the words that are not worth indexing, in lower case.
	stops map[string]bool
	// apostrophe is true where an apostrophe is a part of words.
	apostrophe bool
	// dotless is true where the lower case of I is ı.
	dotless bool
	// ascii is true for text indexes before version 3: only ASCII letters have two cases, only
	// ASCII characters stand between words, and diacritics count.
	ascii bool
	// older is the language with ascii.
	older *Language
}

// Name returns the language's English name, or "none".
func (l *Language) Name() string { return l.name }

// DefaultLanguage is the language of an index whose specification does not name one.
const DefaultLanguage = "english"

// ParseLanguage returns the language of a name or an ISO 639-1 code, in upper or lower case; false
// where there is none.
func ParseLanguage(name string) (*Language, bool) {
	l, ok := languages[strings.ToLower(name)]
	return l, ok
}

// languages are found by name and code.
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

// hungarianLetters exchanges ő and ű with the letters that stand in their place in Latin-1.
var hungarianLetters = strings.NewReplacer("ő", "õ", "õ", "ő", "ű", "û", "û", "ű")

// stemHungarian knows endings as MongoDB does: its stemmer is of the time when the algorithm had õ
// and û for ő and ű.
func stemHungarian(env *snowballstem.Env) bool {
	env.SetCurrent(hungarianLetters.Replace(env.Current()))
	ok := hungarian.Stem(env)
	env.SetCurrent(hungarianLetters.Replace(env.Current()))
	return ok
}

// loadStopWords reads the list of a language: those of the Snowball project in the extent that
// MongoDB has them.
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
