package mongoerr

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLongMessages makes messages around MaxMessage bytes. Only the longer ones are cut.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"ASCII":                strings.Repeat("x", 2*MaxMessage),
		"three bytes a letter": strings.Repeat("€", MaxMessage),
	} {
		for form, err := range map[string]*Error{
			"argument": New(BadValue, "a %s z", text), "no argument": New(BadValue, text),
			"prefix":         New(BadValue, "z").Prefix("%s", text),
			"after a prefix": New(BadValue, text).Prefix("%s", "a: "), "bytes": New(BadValue, "%s", []byte(text)),
		} {
			m := err.Message
			if len(m) > MaxMessage || len(m) < MaxMessage-8 || !utf8.ValidString(m) ||
				!strings.Contains(m[len(m)-8:], "...") {
				t.Errorf("%s, %s: %d bytes that end with %q", name, form, len(m), m[len(m)-8:])
			}
		}
	}
	for _, text := range []string{"", "x", strings.Repeat("x", MaxMessage)} {
		if New(BadValue, text).Message != text || New(BadValue, "%s", text).Message != text {
			t.Errorf("a message of %d bytes is changed", len(text))
		}
	}
}
