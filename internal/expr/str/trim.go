package str

import (
	"sync"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// whitespace returns the characters that the trim operators remove if the argument chars is absent.
var whitespace = sync.OnceValue(func() *charSet {
	set, _ := newCharSet(
		"\x00 \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a", &interrupt.Watch{})
	return set
})

func trimDefinition() expr.Definition  { return trim("$trim", true, true) }
func ltrimDefinition() expr.Definition { return trim("$ltrim", true, false) }
func rtrimDefinition() expr.Definition { return trim("$rtrim", false, true) }

func trim(name string, left, right bool) expr.Definition {
	return expr.Definition{
		Name: name, Family: family, Parse: parseTrim(left, right), Arguments: []string{"input", "chars"},
		Lazy:  &expr.Laziness{From: 1, Rest: []bsonx.Value{bsonx.Missing, bsonx.String("")}},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func parseTrim(left, right bool) expr.ParseFunc {
	parse := expr.OpNamed(expr.Named{
		Required:  1,
		NotObject: 50696, Unknown: expr.UnknownArgument{Code: 50694, Text: expr.FoundUnknown},
		Missing:       []mongoerr.Code{50695},
		NotObjectText: "%s only supports an object as an argument, found %s", MissingText: "%s requires an '%s' field",
	}, nil)
	return func(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
		e, err := parse(p, def, arg, vars)
		if call, ok := e.(*expr.CallN); ok {
			running := vars.Scripts().Running
			given := call.Args[1] != nil
			call.Fn = expr.PlainN(func(args []bsonx.Value) (bsonx.Value, error) {
				text, set, err := trimArguments(def.Name, args, given, running)
				if set == nil || err != nil {
					return bsonx.Null, err
				}
				return set.trim(text, left, right, running)
			})
		}
		return e, err
	}
}

// trimArguments returns the text and the set of characters to remove. The set is nil if the result
// is null.
func trimArguments(name string, args []bsonx.Value, given bool,
	running *interrupt.Running,
) (text []byte, set *charSet, err error) {
	input, chars := args[0], args[1]
	if expr.Nullish(input) {
		return nil, nil, nil
	}
	if input.Type != bsonx.TypeString {
		return nil, nil, mongoerr.New(50699, "%s requires its input to be a string, got %s (of type %s) instead.", name, expr.Show(input), input.Type)
	}
	if !given {
		return input.StrBytes(), whitespace(), nil
	}
	if expr.Nullish(chars) {
		return nil, nil, nil
	}
	if chars.Type != bsonx.TypeString {
		return nil, nil, mongoerr.New(50700, "%s requires 'chars' to be a string, got %s (of type %s) instead.", name, expr.Show(chars), chars.Type)
	}
	set, err = newCharSet(chars.Str(), &interrupt.Watch{Running: running})
	return input.StrBytes(), set, err
}

// charSet is a set of characters, stored as bit sets of 64 characters each. A search does not take
// longer in a large set than in a small one.
type charSet struct {
	low [4]uint64
	// high contains the words for characters from 256 on, by word number. It is nil if there are no
	// such characters.
	high map[rune]uint64
}

// charWork is the work of adding a character to a set or searching for it, in the units of
// interrupt.Meter.
const charWork = interrupt.Step / 4

// newCharSet returns the set of characters in chars. It fails if the operation was interrupted.
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

// trim removes characters of the set from the left and right ends of text, as requested.
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
