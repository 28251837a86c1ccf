package expr

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// whitespace is what the trim operators remove without chars.
var whitespace = sync.OnceValue(func() *charSet {
	set, _ := newCharSet(
		"\x00 \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a", &interrupt.Watch{})
	return set
})

func TrimOperators() []Definition {
	return []Definition{
		trim("$trim", true, true), trim("$ltrim", true, false), trim("$rtrim", false, true),
		replace("$replaceOne", 1), replace("$replaceAll", -1),
	}
}

func trim(name string, left, right bool) Definition {
	codes := namedCodes{
		notObject: 50696, unknown: unknownArgument{50694, foundUnknown}, missing: []mongoerr.Code{50695},
		notObjectText: "%s only supports an object as an argument, found %s", missingText: "%s requires an '%s' field",
	}
	def := opNamed(name, "string", codes, 1, []string{"input", "chars"}, nil)
	def = watched(def, func(call *callN, vars *Vars) {
		running := vars.Scripts().Running
		given := call.args[1] != nil
		call.fn = plainN(func(args []bsonx.Value) (bsonx.Value, error) {
			text, set, err := trimArguments(name, args, given, running)
			if set == nil || err != nil {
				return bsonx.Null, err
			}
			return set.trim(text, left, right, running)
		})
	})
	return lazily(def, 1, bsonx.Missing, bsonx.String(""))
}

// trimArguments reads the text and what is removed from it, which is nil if the result is null.
func trimArguments(name string, args []bsonx.Value, given bool, running *interrupt.Running) (text []byte, set *charSet, err error) {
	input, chars := args[0], args[1]
	if Nullish(input) {
		return nil, nil, nil
	}
	if input.Type != bsonx.TypeString {
		return nil, nil, mongoerr.New(50699, "%s requires its input to be a string, got %s (of type %s) instead.", name, Show(input), input.Type)
	}
	if !given {
		return input.StrBytes(), whitespace(), nil
	}
	if Nullish(chars) {
		return nil, nil, nil
	}
	if chars.Type != bsonx.TypeString {
		return nil, nil, mongoerr.New(50700, "%s requires 'chars' to be a string, got %s (of type %s) instead.", name, Show(chars), chars.Type)
	}
	set, err = newCharSet(chars.Str(), &interrupt.Watch{Running: running})
	return input.StrBytes(), set, err
}

// charSet is a set of characters. It has 64 of them in each word, so that a long list of
// characters is searched no slower than a short one.
type charSet struct {
	low  [4]uint64
	high map[rune]uint64 // from the character 256 on, by the number of the word; nil if there are none
}

// charWork is the work of adding a character to a set, or of searching it there.
const charWork = interrupt.Step / 4

// newCharSet returns the set of the characters of a text. It fails where the operation ends.
func newCharSet(chars string, watch *interrupt.Watch) (*charSet, error) {
	s := &charSet{}
	for _, r := range chars {
		if watch.Stopped(charWork) {
			return nil, watch.Ended()
		}
		word, bit := r>>6, uint64(1)<<(r&63)
		if int(word) < len(s.low) {
			s.low[word] |= bit
			continue
		}
		if s.high == nil {
			s.high = map[rune]uint64{}
		}
		s.high[word] |= bit
	}
	return s, nil
}

// has reports whether a character is in the set.
func (s *charSet) has(r rune) bool {
	word := r >> 6
	if int(word) < len(s.low) {
		return s.low[word]&(1<<(r&63)) != 0
	}
	return s.high[word]&(1<<(r&63)) != 0
}

// trim removes the characters of the set from the ends of a text.
func (s *charSet) trim(text []byte, left, right bool, running *interrupt.Running) (bsonx.Value, error) {
	watch := &interrupt.Watch{Running: running}
	for left && len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if !s.has(r) || watch.Stopped(charWork) {
			break
		}
		text = text[size:]
	}
	for right && len(text) > 0 {
		r, size := utf8.DecodeLastRune(text)
		if !s.has(r) || watch.Stopped(charWork) {
			break
		}
		text = text[:len(text)-size]
	}
	return bsonx.String(string(text)), watch.Ended()
}

// replace makes $replaceOne and $replaceAll; n is how many occurrences, -1 for all.
func replace(name string, n int) Definition {
	codes := namedCodes{
		notObject: 51751, unknown: unknownArgument{51750, foundUnknown}, missing: []mongoerr.Code{51749, 51748, 51747},
		notObjectText: "%s requires an object as an argument, found: %s", missingText: "%s requires '%s' to be specified",
	}
	names := []string{"input", "find", "replacement"}
	def := watchNamed(name, "string", codes, 3, names, func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		null := false
		for i, v := range args {
			if Nullish(v) {
				null = true
			} else if v.Type != bsonx.TypeString {
				return bsonx.Missing, mongoerr.New(mongoerr.Code(51746-i), "%s requires that '%s' be a string, found: %s", name, names[i], v.Type)
			}
		}
		if null {
			return bsonx.Null, nil
		}
		watch := &interrupt.Watch{Running: running}
		r := replacement{args[0].StrBytes(), args[1].StrBytes(), args[2].StrBytes(), n}
		size := r.size(watch)
		if watch.Ended() != nil {
			return bsonx.Missing, watch.Ended()
		}
		if err := checkText(size); err != nil {
			return bsonx.Missing, err
		}
		return bsonx.String(r.text(size, watch)), watch.Ended()
	})
	def.Late = true
	return def
}

// replacement says what is replaced in a text.
type replacement struct {
	input, find, by []byte
	most            int // occurrences; -1 for all
}

// occurrences yields the ends of what is replaced. The empty text is found before each character
// and at the end.
func (r *replacement) occurrences(watch *interrupt.Watch, yield func(from, to int)) {
	at := 0
	for n := 0; n != r.most; n++ {
		from := at
		if len(r.find) > 0 {
			i := bytes.Index(r.input[at:], r.find)
			if i < 0 {
				return
			}
			from += i
		} else if n > 0 {
			if at == len(r.input) {
				return
			}
			_, size := utf8.DecodeRune(r.input[at:])
			from += size
		}
		if watch.Stopped(stepWork + from - at) {
			return
		}
		at = from + len(r.find)
		yield(from, at)
	}
}

// size is the length of the new text.
func (r *replacement) size(watch *interrupt.Watch) int {
	size := len(r.input)
	r.occurrences(watch, func(from, to int) { size += len(r.by) - (to - from) })
	return size
}

// text makes the new text, which has that size.
func (r *replacement) text(size int, watch *interrupt.Watch) string {
	var out strings.Builder
	out.Grow(size)
	last := 0
	r.occurrences(watch, func(from, to int) {
		out.Write(r.input[last:from])
		out.Write(r.by)
		last = to
	})
	out.Write(r.input[last:])
	return out.String()
}
