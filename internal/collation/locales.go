package collation

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// simple is the locale that means binary comparison.
const simple = "simple"

// locale describes how x/text supports one of MongoDB's locales.
type locale struct {
	// tag is the language tag of the x/text table with the same order.
	tag string
	// contracts reports that some Latin letters are ordered together with the next letter, like
	// "ch" in Czech.
	contracts bool
	// first and next are letters of two scripts. The scripts from the script of first up to, but
	// not including, the script of next are ordered before the Latin script.
	first, next rune
}

// supported contains the locales that x/text orders like ICU 57.1. They use the root order, or
// their own rules are the same in both libraries.
var supported = map[string]locale{
	"en": {}, "en_US": {}, "chr": {}, "de": {}, "fr": {}, "fr_CA": {}, "ga": {}, "id": {}, "it": {}, "lb": {},
	"ms": {}, "nl": {}, "pt": {}, "sw": {},
	"wae": {}, "zu": {},
	"bg": {first: 'а', next: 'ⰰ'}, "ru": {first: 'а', next: 'ⰰ'}, // Cyrillic
	"el":                     {first: 'α', next: 'ⲁ'}, // Greek
	"ka":                     {first: 'ა', next: 'ա'}, // Georgian
	"de@collation=phonebook": {tag: "de-u-co-phonebk"},
	"es":                     {tag: "es"},
	"cs":                     {tag: "cs", contracts: true},
	"pl":                     {tag: "pl"},
	"ro":                     {tag: "ro"},
	"tr":                     {tag: "tr"},
	"sv":                     {tag: "sv"},
}

// refused lists the other locales and variants of MongoDB. x/text does not support their order, or
// implements another version of it.
var refused = []string{
	"af", "am", "ar", "ar@collation=compat", "as", "az", "az@collation=search", "be", "bn",
	"bn@collation=traditional", "bo", "bs",
	"bs@collation=search", "bs_Cyrl", "ca", "ca@collation=search", "cs@collation=search",
	"cy", "da", "da@collation=search",
	"de@collation=eor", "de@collation=search", "de_AT", "de_AT@collation=phonebook", "dsb",
	"dz", "ee", "en_US_POSIX", "eo",
	"es@collation=search", "es@collation=traditional", "et", "fa", "fa_AF", "fi",
	"fi@collation=search", "fi@collation=traditional",
	"fil", "fo", "fo@collation=search", "gl", "gl@collation=search", "gu", "ha", "haw", "he",
	"he@collation=search", "hi", "hr",
	"hr@collation=search", "hsb", "hu", "hy", "ig", "is", "is@collation=search", "ja", "ja@collation=unihan", "kk",
	"kl", "kl@collation=search", "km", "kn", "kn@collation=traditional", "ko",
	"ko@collation=search", "ko@collation=searchjl",
	"ko@collation=unihan", "kok", "ky", "lkt", "ln", "ln@collation=phonetic", "lo", "lt", "lv",
	"mk", "ml", "mn", "mr", "mt", "my",
	"nb", "nb@collation=search", "ne", "nn", "nn@collation=search", "om", "or", "pa", "ps", "se", "se@collation=search",
	"si", "si@collation=dictionary", "sk", "sk@collation=search", "sl", "smn",
	"smn@collation=search", "sq", "sr", "sr_Latn",
	"sr_Latn@collation=search", "sv@collation=search", "ta", "te", "th", "to", "tr@collation=search", "ug", "uk", "ur",
	"vi", "vi@collation=traditional", "yi", "yi@collation=search", "yo", "zh",
	"zh@collation=big5han", "zh@collation=gb2312han",
	"zh@collation=stroke", "zh@collation=unihan", "zh@collation=zhuyin", "zh_Hant",
}

func known(name string) bool {
	if _, ok := supported[name]; ok {
		return true
	}
	return slices.Contains(refused, name)
}

// similar returns a known locale that an unknown name may mean, or "".
func similar(name string) string {
	name = strings.ReplaceAll(name, "-", "_")
	name, _, _ = strings.Cut(name, "@")
	parts := strings.Split(name, "_")
	parts[0] = strings.ToLower(parts[0])
	for n := len(parts); n > 0; n-- {
		if s := strings.Join(parts[:n], "_"); known(s) {
			return s
		}
	}
	return ""
}

// Locales returns the supported locales, and the other locales of MongoDB. Both lists are sorted.
func Locales() (usable, others []string) {
	for name := range supported {
		usable = append(usable, name)
	}
	slices.Sort(usable)
	return usable, slices.Clone(refused)
}

// supported returns an error if x/text orders the locale differently from MongoDB, or if the
// options are not supported in the locale.
func (p *parser) supported() error {
	o := &p.opts
	l, ok := supported[o.locale]
	if !ok {
		return mongoerr.New(mongoerr.NotImplemented, "collation: the order of locale '%s' is not supported", o.locale)
	}
	if l.contracts && o.aligned() {
		return mongoerr.New(mongoerr.NotImplemented,
			"collation: caseLevel, caseFirst, numericOrdering and alternate 'shifted' are not supported in locale '%s'", o.locale)
	}
	return nil
}
