package i18n

import (
	"errors"
	"strings"
)

// ErrLocale is returned for what is no locale: letters, digits and '-', such as "en-us", at most 35
// of them.
var ErrLocale = errors.New("i18n: this is no locale")

// maxLocaleLength is that of RFC 5646, section 4.4.1.
const maxLocaleLength = 35

// checkLocale returns a locale in lower case, as documents have it.
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

// Names are the translations of a text by their locales.
type Names map[string]string

// In returns the text in the first of these that there is: the locale, the locales that it begins
// with ("de-at" after "de-at-1996", then "de"), and the same for each of the others in turn. ok is
// false if there is none.
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
