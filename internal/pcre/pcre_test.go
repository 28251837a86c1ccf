package pcre

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, options string
		yes, no          []string
	}{
		{"^abc", "", []string{"abc", "abcd"}, []string{"xabc", "\nabc"}},
		{"abc$", "", []string{"abc", "abc\n"}, []string{"abc\n\n", "abcd", "abc\nx"}},
		{"abc$", "m", []string{"abc", "abc\nx", "abc\n\n"}, []string{"abcd"}},
		{"^$", "m", []string{"", "a\n\nb"}, []string{"a\n", "a"}},
		{"^b", "m", []string{"a\nb"}, []string{"ab"}},
		{`abc\Z`, "", []string{"abc\n"}, []string{"abc\nx"}},
		{`abc\z`, "", []string{"abc"}, []string{"abc\n"}},
		{"a.c", "", []string{"abc", "a\rc", "a€c"}, []string{"a\nc"}},
		{"a.c", "s", []string{"a\nc"}, []string{"ac"}},
		{"A", "i", []string{"a", "A"}, []string{"b"}},
		{"straße", "i", []string{"STRAßE"}, nil},
		{"é", "i", []string{"É"}, nil},
		{"(?i)^ABC", "", []string{"abc"}, []string{"xabc"}},
		{"a(?i)b|c", "", []string{"aB", "C"}, []string{"AB"}},
		{"(?i:a)b", "", []string{"Ab"}, []string{"AB"}},
		{"(?-i)a", "i", []string{"a"}, []string{"A"}},
		{"a b c # comment", "x", []string{"abc"}, []string{"a b c"}},
		{`a\ b[ ]c`, "x", []string{"a b c"}, []string{"abc"}},
		{`\d+`, "", []string{"12"}, []string{"٣"}},
		{`^\w+$`, "", []string{"a_1"}, []string{"é"}},
		{`^\W$`, "", []string{"é"}, []string{"a"}},
		{`\bzed\b`, "", []string{"a zed b"}, []string{"zeds"}},
		{`a\vb`, "", []string{"a\x0bb", "a\nb"}, []string{"a b"}},
		{`a\sb`, "", []string{"a\x0bb", "a b"}, []string{"a\u00a0b"}},
		{`a\hb`, "", []string{"a b", "a\u00a0b"}, []string{"a\nb"}},
		{`^a\Rb$`, "", []string{"a\r\nb", "a\nb"}, []string{"ab"}},
		{"(a)(b)?c", "", []string{"ac", "abc"}, []string{"b"}},
		{`(a|b)\1`, "", []string{"aa", "bb"}, []string{"ab"}},
		{`(?<x>a|b)(c)\2\k<x>`, "", []string{"acca"}, []string{"acab"}},
		{`(?P<x>a|b)(?P=x)`, "", []string{"aa"}, []string{"ab"}},
		{`(a|b)\g{-1}`, "", []string{"aa"}, []string{"ab"}},
		{`(A|b)\1`, "i", []string{"aA"}, []string{"ab"}},
		{"foo(?=bar)", "", []string{"foobar"}, []string{"foobaz"}},
		{"foo(?!bar)", "", []string{"foobaz"}, []string{"foobar"}},
		{"(?<=a)b", "", []string{"ab"}, []string{"cb"}},
		{"(?<!a)b", "", []string{"cb"}, []string{"ab"}},
		{"a++b", "", []string{"aab"}, nil},
		{"a++a", "", nil, []string{"aaa"}},
		{"(?>a+)a", "", nil, []string{"aaa"}},
		{"^(a)?(?(1)b|c)$", "", []string{"ab", "c"}, []string{"b", "ac"}},
		{"^a{2,3}$", "", []string{"aa", "aaa"}, []string{"a", "aaaa"}},
		{"^a{,3}$", "", []string{"a{,3}"}, []string{"aa"}},
		{"^(?:a{2}){3}$", "", []string{"aaaaaa"}, []string{"aaa", "aaaa"}},
		{"[[:alpha:]]", "", []string{"a"}, []string{"1", "é"}},
		{"^[[:^digit:]]+$", "", []string{"aé"}, []string{"1"}},
		{`^[]a]+$`, "", []string{"]a"}, []string{"b"}},
		{`^[^]a]+$`, "", []string{"b"}, []string{"]"}},
		{`^[\w-]+$`, "", []string{"a-b"}, []string{"a b"}},
		{`^[\d\-x]+$`, "", []string{"1-x"}, []string{"y"}},
		{`^[\Qa-z\E]+$`, "", []string{"a-z"}, []string{"b"}},
		{`\Qa.b\E`, "", []string{"a.b"}, []string{"axb"}},
		{`\x41\x{20ac}\t\e`, "", []string{"A€\t\x1b"}, nil},
		{`\101\cA`, "", []string{"A\x01"}, nil},
		{`^\p{Lu}\p{Greek}\P{L}$`, "", []string{"Aα1"}, []string{"aα1"}},
		{`(?#comment)a`, "", []string{"a"}, []string{"b"}},
		{"a|b", "", []string{"xb"}, []string{"c"}},
		{"", "", []string{"", "x"}, nil},
		{"a{", "", []string{"a{"}, []string{"a"}},
		{"x*", "", []string{""}, nil},
		{"^a.{2000}b", "", []string{"a" + strings.Repeat("x", 2000) + "b"}, []string{"ab"}},
		{"(?U)a+?b", "", []string{"aab"}, nil},
		{"(?s).(?-s).", "", []string{"\na"}, []string{"a\n"}},
		{"a(?#)+", "", []string{"aa"}, nil},
		{`a\Kb`, "", []string{"ab"}, []string{"b"}},
		{"(?x) a b", "", []string{"ab"}, nil},
		{"(?x)^a\u0085\u200e\u200f\u2028\u2029*$", "", []string{"", "aa"}, []string{"a\u2029"}},
	} {
		re, err := Compile(c.pattern, c.options)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		for want, texts := range map[bool][]string{true: c.yes, false: c.no} {
			for _, text := range texts {
				if got, err := re.Match([]byte(text), nil); got != want || err != nil {
					t.Errorf("%q %q on %q: %v, %v", c.pattern, c.options, text, got, err)
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, options string
		code             mongoerr.Code
	}{
		{"(", "", 51091},
		{")", "", 51091},
		{"[a", "", 51091},
		{"*", "", 51091},
		{"a**", "", 51091},
		{"a{2,1}", "", 51091},
		{`\`, "", 51091},
		{`\1`, "", 51091},
		{"(?z)", "", 51091},
		{"[b-a]", "", 51091},
		{"[[:foo:]]", "", 51091},
		{`\p{Foo}`, "", 51091},
		{"a\x00", "", 2},
		{"a", "q", 51108},
		{"a", "g", 51108},
		{`(?R)`, "", 238},
		{strings.Repeat("a", limits.PatternBytes+1), "", 51091},
		{"a{70000}", "", 51091},
	} {
		_, err := Compile(c.pattern, c.options)
		if got := mongoerr.CodeOf(err); got != c.code {
			t.Errorf("%.20q: %v, want %d", c.pattern, err, c.code)
		}
	}
}

// TestLeast searches a text that is shorter than the shortest match of the pattern. The counts are
// so large that the backtracking engine would run out of time.
func TestLeast(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"a{65535}", "(a{1000}){1000}"} {
		re, err := Compile(pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		text := []byte(strings.Repeat("a", 40000))
		if ok, err := re.Match(text, nil); ok || err != nil {
			t.Errorf("%s: %v, %v", pattern, ok, err)
		}
		if m, err := re.Find(text, nil); m != nil || err != nil {
			t.Errorf("%s: %v, %v", pattern, m, err)
		}
	}
	re, err := Compile("a{65535}", "")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := re.Match([]byte(strings.Repeat("a", 65535)), nil); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

// TestCallsAreBounded compiles groups that each call the previous group twice. If the calls are
// written out, each group is twice as long as the previous one.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	var pattern strings.Builder
	pattern.WriteString("(a)")
	for n := 1; n < 2000; n++ {
		fmt.Fprintf(&pattern, "((?%d)(?%d))", n, n)
	}
	if _, err := Compile(pattern.String(), ""); mongoerr.CodeOf(err) != mongoerr.NotImplemented {
		t.Error(err)
	}
	pattern.Reset()
	for n := 1; n < 2000; n++ {
		fmt.Fprintf(&pattern, `(\g{%d}\g{%d})`, n+1, n+1)
	}
	if _, err := Compile(`(?<=\g{1})`+pattern.String()+"(a)", ""); mongoerr.CodeOf(err) != codeInvalidPattern {
		t.Error(err)
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	re, err := Compile(`(?=(a+)+$)(a+)+\1b`, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := re.Match([]byte(strings.Repeat("a", 5000)+"!"), nil); mongoerr.CodeOf(err) != codeMatchFailed {
		t.Fatal(err)
	}
}

// FuzzEngines requires that both engines return the same result if both can run a pattern.
func FuzzEngines(f *testing.F) {
	f.Add(`^a(b|c)*\d[x-z]+$`, "i", "abc\n")
	f.Add(`(?m)^$|[[:alpha:]]\b`, "sx", "a\n\n")
	f.Fuzz(func(t *testing.T, pattern, options, text string) {
		if len(pattern) > 60 || len(text) > 100 {
			return
		}
		re, err := Compile(pattern, options)
		if err != nil || re.linear == nil || re.newlineMatters && strings.HasSuffix(text, "\n") {
			return
		}
		other, err := re.backtracking()
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		want, err := other.MatchString(text)
		if err != nil {
			return
		}
		if got, _ := re.Match([]byte(text), nil); got != want &&
			text == strings.ToLower(text) && isASCII(text+pattern) {
			t.Fatalf("%q on %q: linear %v, backtracking %v", pattern, text, got, want)
		}
	})
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
