package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
)

// somePatterns lists expressions with which all methods are called.
var (
	somePatterns = []string{
		`o`, `(w|o)+d`, `nosuch(.)$`, `(a?){3}b`, `(?:x|(y))(z)?`, `\\b\\w`, `^`, `$`, ``, `a*?`, `(?=(w|o)*)x?`,
		`(?<year>\\d+)-(?<m>\\d)`, `(.)\\1`, `[^a-z]`, `\\s+`, `[é\\u0041]`,
		`\\ud83d\\ude00`, `.`, `😀`, `[😀x]`, `\\u{1F600}|z`, `(z)((a+)?(b+)?(c))*`, `(?:(a)|b)*`, `/`, `\n`, `[/]x|\\/`,
		`(?<n>o)|w`, `\\😀`, `a{2,3}|-`, `[]`, `[^]`, `\ud83d`, `\\\\ud83d`, `x\\\\`,
	}
	regexpFlags = []string{"", "g", "i", "gi", "y", "gy", "m", "gm", "u", "gu", "s", "gus", "uy"}
	regexpTexts = []string{
		``, `word1 wOrd2 `, `aaab`, `xyzzy yz`, `2024-1 and 2025-2`, `wörd1 😀x😀`, `zaacbbbcac`, `a/b\nc/x`,
		`--aa--aaa`, `\ud83dx\ude00`, `foo\r\nbar\\`,
	}
	// regexpCalls lists calls that use the expression r, the text s and the function show.
	regexpCalls = []string{
		"show(r.exec(s)) + r.lastIndex + show(r.exec(s)) + r.lastIndex", "r.test(s) + '' + r.lastIndex + r.test(s) + r.lastIndex", "(r.lastIndex = 2, show(r.exec(s)) + r.lastIndex)",
		"(r.lastIndex = {valueOf() { return 1 }}, r.test(s) + '' + r.lastIndex)", "show(s.match(r)) + r.lastIndex", "s.search(r) + '' + r.lastIndex",
		"show([...s.matchAll(new RegExp(r, r.flags.replace('g', '') + 'g'))].map(show))", "s.replace(r, \"[$&|$1|$2|$01|$10|$`|$'|$$|$<year>|$<|$x|$0|$]\") + r.lastIndex", "s.replace(r, '-')",
		"s.replace(r, (...a) => show(a)) + r.lastIndex", "show(s.split(r))", "show(s.split(r, 2))", "show(s.match(r.source)) + s.search(r.source)", "s.replaceAll(new RegExp(r, r.flags.replace('g', '') + 'g'), '<$&>')",
		"s.replaceAll('o', '($&$`)') + s.replaceAll('o', (...a) => a.join()) + s.replace('o', '[$&]')", "show(s.split('o')) + show(s.split('')) + show(s.split())",
		"(() => { class X extends RegExp { exec(t) { const m = super.exec(t); if (m) m.found = 1; return m } }; const x = new X(r); return show(s.match(x)) + show(s.split(x)) + s.replace(x, '!') + x.test(s) })()",
		"show(Object.keys(r.exec(s) || {}))", "(r.compile('o', 'g'), show(s.match(r)))", "show(RegExp.prototype[Symbol.match].call({flags: '', exec: t => [t, 1]}, s))",
		"show([typeof r[Symbol.split], r[Symbol.replace].length, RegExp.prototype[Symbol.match].name, r.exec.name, ''.replaceAll.length])",
	}
)

const regexpShow = `const show = (x) => x && typeof x === 'object' ? '[' + (Array.isArray(x) ? Array.from({length: x.length}, (_, i) => show(x[i])) :
	Object.entries(x).map(([k, v]) => k + ':' + show(v))).join() + ('index' in x ? ';' + x.index + ';' + x.input.length + ';' + show(x.groups) : '') + ']' : JSON.stringify(x) + '';`

// TestRegExpsKeepResults requires that the wrapped methods of regular expressions give the same
// results as the original methods of goja.
func TestRegExpsKeepResults(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	own := goja.New()
	// goja's fast paths, which it uses while the methods are original, treat the flag y and empty
	// matches differently.
	if _, err := own.RunString("RegExp.prototype.exec = RegExp.prototype.exec"); err != nil {
		t.Fatal(err)
	}
	engines := [2]*engine{}
	for i := range engines {
		var err error
		if engines[i], err = newEngine(); err != nil {
			t.Fatal(err)
		}
	}
	engines[1].regexps.quick = -1 // every search checks for interrupts
	engines[1].regexps.compiled(patternSize{})
	different := 0
	for i := range torture.Part(1500) {
		e := engines[i%2]
		flags, text := regexpFlags[random.IntN(len(regexpFlags))], regexpTexts[random.IntN(len(regexpTexts))]
		pattern := somePatterns[random.IntN(len(somePatterns))]
		call := regexpCalls[random.IntN(len(regexpCalls))]
		code := fmt.Sprintf("(() => { %s const r = new RegExp(%s, %q), s = %s; return %s })()", regexpShow, "'"+pattern+"'", flags, "'"+text+"'", call)
		want, wantErr := own.RunString(code)
		var got goja.Value
		err := e.run(func() (err error) {
			got, err = e.rt.RunString(code)
			return err
		})
		if (err == nil) != (wantErr == nil) || err == nil && got.String() != want.String() {
			t.Errorf("%d %s: %v, %v, and by the engine %v, %v", i, code[len(regexpShow):], got, err, want, wantErr)
			if different++; different > 20 {
				return
			}
		}
	}
}

// TestPropertyEscapes requires an error for classes such as \p{L}, which goja would read as the
// letter p.
func TestPropertyEscapes(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		`/\p{L}/u.test('é')`, `/[^\P{Lu}]/u`, `/\\\p{L}/gu`, `new RegExp('\\p{L}', 'u')`, `new RegExp(/\p{L}/, 'u')`,
		`eval('/\\p{L}/u')`, `/a/.compile('\\p{L}', 'u')`,
	} {
		f, err := compileFunc(code, js.Options{})
		if err == nil {
			_, err = f.Call(bsonx.Missing)
		}
		if mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure || !strings.Contains(err.Error(), "not supported") {
			t.Errorf("%s: %v", code, err)
		}
	}
	for _, code := range []string{`/\p{L}/.test('p{L}')`, `/\\p{1}/u.test('\\p')`, `/p\{/u.test('p{')`} {
		if v, err := compile(t, code).Call(bsonx.Missing); err != nil || !v.Bool() {
			t.Errorf("%s: %v, %v", code, v, err)
		}
	}
}
