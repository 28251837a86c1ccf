package i18n

import (
	"errors"
	"strings"
)

// ErrLocale is returned for a text that is not a locale. A locale has 1 to 35 letters, digits and
// hyphens, such as "en-us".
var ErrLocale = errors.New("i18n: not a locale")

// maxLocaleLength is the length from RFC 5646, section 4.4.1.
const maxLocaleLength = 35

// checkLocale returns a locale in lower case, as documents store it.
func checkLocale(locale string) (string, error) {
	if locale == "" || len(locale) > maxLocaleLength {
		return "", ErrLocale
	}
	locale = strings.ToLower(locale)
	for _, r := range locale {
		if r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return "", ErrLocale
		}
	}
	return locale, nil
}

// Names holds the translations of a text by their locales.
type Names map[string]string

// In returns the translation for the first locale that has one. It tries the locale itself, then
// its prefixes ("de-at" and "de" after "de-at-1996"), and then each locale in others with its
// prefixes. ok is false if it finds no translation.
func (n Names) In(locale string, others ...string) (text string, ok bool) {
	for _, l := range append([]string{locale}, others...) {
		for l = strings.ToLower(l); l != ""; l = parent(l) {
			if text, ok = n[l]; ok {
				return text, true
			}
		}
	}
	return "", false
}

// parent returns a locale without its last part.
func parent(locale string) string {
	return locale[:max(strings.LastIndexByte(locale, '-'), 0)]
}
