package engine

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestBoundedFunctions requires that the wrapped built-in functions give the same results as the
// original functions. Each script returns true.
func TestBoundedFunctions(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	for _, source := range []string{
		"' \t\u2003a b\u2003\ufeff'.trim() === 'a b'", "'\u2003é '.trimStart() === 'é '",
		"' é\u2003'.trimEnd() === ' é'", "' \u2003'.trim() === ''",
		"''.trim() === ''", "'a'.trim() === 'a'", "String.prototype.trim.call(5) === '5'",
		"String.prototype.trim.call([' a ']) === 'a'",
		"'\u200ba'.trim().length === 2", "' a'.trimLeft() === 'a'", "'a '.trimRight() === 'a'",
		"String.prototype.trimLeft.name === 'trimStart'",
		"(() => { try { String.prototype.trim.call(null) } catch (e) { return e instanceof TypeError } })()",
		"'\u2003'.repeat(4e6).trim() === ''",
		"new Date(5).getTime() === 5", "new Date('2020-01-01').getTime() === 1577836800000",
		"isNaN(new Date('x'.repeat(1e7)))",
		"isNaN(new Date('é'.repeat(4e6)))", "isNaN(new Date(['é'.repeat(4e6)]))",
		"new Date(new Date(5)).getTime() === 5",
		"new Date({valueOf: () => 7}).getTime() === 7", "new Date({[Symbol.toPrimitive]: (hint) => hint === 'default' ? 8 : 9}).getTime() === 8",
		"new Date(2020, 0, 1).getMonth() === 0", "typeof Date() === 'string'", "new Date() instanceof Date",
		"Date.UTC(2020, 0) === 1577836800000",
		"class D extends Date {}; new D(5) instanceof D && new D(5).getTime() === 5", "new Date(5).constructor === Date", "Math.abs(Date.now() - new Date()) < 60000",
		"Array.prototype.map.call('abc', () => 1).join() === '1,1,1'", "Array.prototype.slice.call('abc').join('') === 'abc'",
		"Array.prototype.fill.call({length: 2}, 1)[1] === 1", "escape('\u1234') === '%u1234'",
		"encodeURI(undefined) === 'undefined'",
		"encodeURIComponent('\u1234'.repeat(1e6)).length === 9e6", "unescape('%u1234'.repeat(1e6)).length === 1e6",
		"'x'.repeat(9e6).length === 9e6", "new Uint8Array([1, 2]).join() === '1,2'", "[1, null, undefined, [2, 3], 'é'].join('-') === '1---2,3-é'", "[].join() === ''", "[1, [2, [3]]].flat(Infinity).length === 3",
		"[1, [2, [3]]].flat().length === 3", "[, [1, , 2]].flat().length === 2", "[[[1]]].flat(0)[0][0][0] === 1", "[1].concat([2, 3], 4, [[5]]).length === 5", "[].concat({[Symbol.isConcatSpreadable]: true, length: 2, 0: 1}).length === 2",
		"[].concat('ab').length === 1", "'a'.concat(1, null) === 'a1null'", "String.raw`a${1}b` === 'a1b'",
		"String.raw`\\n`.length === 2", "Array.from({length: 2, 1: 3})[1] === 3", "Array.from('abc').length === 3",
		"Array.from(new Set([1, 2]), (x) => x * 2)[1] === 4", "new Float64Array([1, 2]).length === 2",
		"new Float64Array('3').length === 3", "new Uint8Array({length: 2}).length === 2",
		"new Uint8Array(new ArrayBuffer(8), 4).length === 4", "new Uint8Array(new Set([1, 2])).length === 2",
		"Uint8Array.from([1, 2], (x) => x + 1)[1] === 3", "new Uint8Array().length === 0",
		"[].join.call('abc', '-') === 'a-b-c'", "[].join.call({}) === ''", "[].join.call({length: 2, 1: 'x'}) === ',x'",
		"(() => { const a = new Float64Array(3e5); a[0] = NaN; a[1] = 5; a[2] = -0; a[3] = -1; a.sort(); return a[0] === -1 && Object.is(a[1], -0) && isNaN(a[299999]) && a[299998] === 5 })()",
		"JSON.stringify({a: 1, b: [1, undefined]}) === '{\"a\":1,\"b\":[1,null]}'", "JSON.stringify({a: 1, b: 2}, ['b']) === '{\"b\":2}'", "JSON.stringify(undefined) === undefined", "JSON.stringify({a: 1}, null, new Number(1)) === '{\\n \"a\": 1\\n}'",
		"JSON.stringify({toJSON: (k) => k + '!'}) === '\"!\"'", "[1, 2].toLocaleString() === '1,2'",
		"'ab'.repeat('2') === 'abab'", "'a'.padEnd('3', 'b') === 'abb'", "'abab'.replace('b', null) === 'anullab'",
		"new Uint8Array([1, 2]).join(undefined) === '1,2'",
		"new Float64Array([1, 2.5]).join({toString: () => '-'}) === '1-2.5'", "String(new Uint8Array(2)) === '0,0'", "new Uint8Array(1e6).join('').length === 1e6",
		"('é' + 'x'.repeat(4e6)).length === 4e6 + 1",
	} {
		body := "return " + source
		if strings.Contains(source, ";") && !strings.HasPrefix(source, "(") {
			at := strings.LastIndex(source, ";")
			body = source[:at+1] + " return " + source[at+1:]
		}
		f, err := compileFunc("function() { "+body+" }", js.Options{})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if v, err := f.Call(bsonx.Missing); err != nil || v.Type != bsonx.TypeBool || !v.Bool() {
			t.Errorf("%s: %v, %v", source, v, err)
		}
	}
}

// TestChangingValues runs scripts whose values change, or whose lists grow, when they are read a
// second time. No script may exhaust memory or time, whether or not it ends with an error.
func TestChangingValues(t *testing.T) {
	for name, code := range torture.SomeOf(map[string]string{
		"separator":          "let i = 0; return new Array(1e5).fill(1).join({toString: () => i++ ? 'x'.repeat(1e5) : ''}).length",
		"count":              "let i = 0; return 'x'.repeat(1000).repeat({valueOf: () => i++ ? 1e7 : 0}).length",
		"width":              "let i = 0; return ''.padEnd({valueOf: () => i++ ? 3e9 : 0}).length",
		"text":               "let i = 0; return String.prototype.repeat.call({toString: () => i++ ? 'x'.repeat(3e7) : ''}, 100).length",
		"depth":              "let i = 0, a = []; for (let n = 0; n < 1e5; n++) a = [a]; return a.flat({valueOf: () => i++ ? 1e9 : 0}).length",
		"case":               "let i = 0; return String.prototype.toLowerCase.call({toString: () => i++ ? 'É'.repeat(8e6) : ''})",
		"normalize":          "let i = 0; return String.prototype.normalize.call({toString: () => i++ ? 'É'.repeat(8e6) : ''})",
		"comparison":         "let i = 0; return ''.localeCompare({toString: () => i++ ? 'x'.repeat(3e7) : ''})",
		"list":               "let i = 0; return [].join.call({get length() { return i++ ? 3e9 : 0 }}).length",
		"search":             "let i = 0; return [].indexOf.call({get length() { return i++ ? 1e15 : 0 }}, 1)",
		"typed array":        "let i = 0; return new Float64Array({get length() { return i++ ? 1e9 : 0 }}).length",
		"from":               "let i = 0; return Array.from({get length() { return i++ ? 1e9 : 0 }}).length",
		"typed from":         "let i = 0; return Float64Array.from({get length() { return i++ ? 1e9 : 0 }}).length",
		"apply":              "let i = 0; return Math.max.apply(null, {get length() { return i++ ? 1e9 : 0 }})",
		"Reflect.apply":      "let i = 0; return Reflect.apply(Math.max, null, {get length() { return i++ ? 1e9 : 0 }})",
		"Reflect.construct":  "let i = 0; return Reflect.construct(Array, {get length() { return i++ ? 1e9 : 0 }})",
		"concat":             "let i = 0; return [].concat({[Symbol.isConcatSpreadable]: true, get length() { return i++ ? 4e9 : 0 }}).length",
		"raw":                "let i = 0; return String.raw({raw: {get length() { return i++ ? 1e15 : 0 }}}).length",
		"JSON":               "let i = 0; return JSON.stringify({toJSON: () => i++ ? new Array(1e6).fill('x'.repeat(1e4)) : 1}).length",
		"buffer":             "let i = 0; return new ArrayBuffer({valueOf: () => i++ ? 1e11 : 0}).byteLength",
		"date":               "let i = 0; return Date.parse({toString: () => i++ ? 'x'.repeat(3e7) : ''})",
		"long typed set":     "let i = 0; return new Float64Array(10).set({get length() { return i++ ? 1e15 : 0 }})",
		"subclass":           "class A extends Array { constructor(n) { super(n) } } return new A(4e9).fill(1).length",
		"elements of join":   "const a = new Array(1e5).fill(''); a[0] = {toString: () => { a.fill('x'.repeat(1e6)); return '' }}; return a.join().length",
		"elements of flat":   "let i = 0; const a = new Array(1e5).fill(1); Object.defineProperty(a, 0, {get: () => { if (i++) a.fill(new Array(1e6).fill(1), 1); return 1 }}); return a.flat().length",
		"elements of concat": "let b = []; const a = [1]; Object.defineProperty(a, 0, {get: () => { b.length = 4e9; return 1 }}); return a.concat(a, b).length",
		"elements of JSON":   "const a = new Array(1e5).fill(''); a[0] = {toJSON: () => { a.fill('x'.repeat(1e6)); return '' }}; return JSON.stringify(a).length",
		"names of JSON":      "const a = new Array(1e5).fill(''); a[0] = {toJSON: () => { a.fill('x'.repeat(1e6)); return '' }}; return JSON.stringify(a, ['a']).length",
		"texts of elements":  "const a = new Array(1e5).fill(''); a[0] = {toLocaleString: () => { a.fill('x'.repeat(1e6)); return '' }}; return a.toLocaleString().length",
		"iterator":           "let i = 0; return Array.from({get [Symbol.iterator]() { return i++ ? undefined : [].values }, length: 1e9}).length",
		"array's iterator":   "let i = 0; const a = []; Object.defineProperty(a, Symbol.iterator, {get() { if (i++) a.length = 4e9 }}); return Array.from(a).length",
		"typed length":       "const b = new Uint8Array(10); Object.defineProperty(b, 'length', {get: () => 1e12}); return [].indexOf.call(b, 1)",
		"replacement":        "let i = 0; return 'x'.repeat(1e7).replace('x', {toString: () => i++ ? '$`'.repeat(1e6) : ''}).length",
	}, 2) {
		t.Run(name, func(t *testing.T) {
			begin := torture.ProcessorTime()
			peak := peakHeap(func() {
				f, err := compileFunc(code, js.Options{Timeout: 200 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				_, err = f.Call(bsonx.Missing)
				t.Log(err)
			})
			if peak > 3*maxHeapGrowth {
				t.Errorf("the heap had %d MiB", peak>>20)
			}
			if took := torture.ProcessorTime() - begin; took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestLimits runs scripts that would crash the process or never end. Each must end with the error
// of its limit.
func TestLimits(t *testing.T) {
	torture.NeedsLong(t)
	for name, code := range map[string]string{
		"push":               "const a = []; for (;;) a.push('x'.repeat(1000000) + a.length)",
		"doubling":           "let s = 'x'; for (;;) s += s",
		"repeat":             "return 'x'.repeat(1e9).length",
		"escape":             "return escape('\u1234'.repeat(8e6)).length",
		"encodeURIComponent": "return encodeURIComponent('\u1234'.repeat(8e6)).length",
		"pad":                "return 'x'.padEnd(1e9).length",
		"shared strings":     "return new Array(1e5).fill('x'.repeat(1e6)).join().length",
		"replacement":        "const s = 'x'.repeat(1e6); return s.replace(/x/g, s).length",
		"json of shared":     "const s = 'x'.repeat(1e6); return JSON.stringify(new Array(1e4).fill(s)).length",
		"fill":               "return new Array(1e9).fill(0)",
		"index":              "const a = []; a.length = 4e9; return a.indexOf(1)",
		"array-like":         "return [].indexOf.call({length: 1e15}, 1)",
		"spread":             "return [...new Array(4e9)].length",
		"entries of a text":  "return Object.entries('x'.repeat(1e7)).length",
		"keys of a list":     "return Object.keys(new Array(5e5)).length",
		"values of bytes":    "return Object.values(new Uint8Array(5e5)).length",
		"localeCompare":      "const s = 'x'.repeat(1e7); return s.localeCompare(s)",
		"typed array's text": "return new Float64Array(5e5).toLocaleString()",
		"typed array's join": "return new Uint8Array(1e6).join('x'.repeat(1000)).length",
		"from":               "return Array.from({length: 5e5}).length",
		"promises":           "Promise.allSettled(new Array(1e5).fill(1))",
		"apply":              "return Math.max.apply(null, {length: 1e9})",
		"buffer":             "return new ArrayBuffer(1e12)",
		"typed array":        "return new Float64Array(1e12)",
		"big integers":       "return 2n ** 100000000000n",
		"big integers' text": "return eval('1n << 100000000000n')",
		"match":              "return /(a+)+$(?=b)/.test('a'.repeat(40))",
		"string's match":     "return 'a'.repeat(40).match(/(a+)+$(?=b)/)",
		"long search":        "return /nosuch/.test('x'.repeat(9e6))",
		"long replacement":   "return 'x'.repeat(9e6).replace(/nosuch/, '')",
		"long split":         "return 'x'.repeat(9e6).split(/nosuch/)",
		"pattern":            "return new RegExp('('.repeat(1e6))",
		"large pattern":      "return new RegExp('a{1000}'.repeat(100)).test('a')",
		"large pattern's i":  "return new RegExp('[B-\\uffff]'.repeat(1000), 'i').test('a')",
		"large groups":       "return new RegExp('(a?)'.repeat(8000) + 'b').test('a')",
		"large folding":      "return new RegExp('(?=)' + '\\\\W'.repeat(1000), 'i').test('a')",
		"large class":        "return new RegExp('(?=)[' + Array.from({length: 3e4}, (_, i) => String.fromCharCode(i * 2 + 256)).join('') + ']').test('a')",
		"growing parts":      "return 'a'.repeat(30000).replace(/a/g, '$`$`$`$`').length",
		"growing texts":      "return 'a'.repeat(30000).replaceAll('a', \"$'$'$'$'\").length",
		"empty parts":        "return 'é'.repeat(1e6).replaceAll('', 'x'.repeat(100)).length",
		"pattern of a list":  "return 'a'.match(['a{1000}'.repeat(100)])",
		"pattern's source":   "return new RegExp({[Symbol.match]: true, source: 'a{1000}'.repeat(100), flags: ''})",
		"compiled pattern":   "return /a/.compile('a{1000}'.repeat(100))",
		"pattern's new flag": "return new RegExp(new RegExp('[B-\\uffff]'.repeat(1000)), 'i')",
		"subclass's pattern": "class R extends RegExp {} return new R('a{1000}'.repeat(100))",
		"literals":           "return eval('[' + '/a{1000}/,'.repeat(1000) + ']').length",
		"values of JSON":     "return JSON.parse('[' + '1,'.repeat(5e5) + '1]')",
		"wide JSON":          "return JSON.parse('\"' + 'é'.repeat(3e6) + '\"')",
		"wide lower case":    "return 'É'.repeat(5e6).toLowerCase()",
		"normalize":          "return 'É'.repeat(2e6).normalize()",
		"number":             "return parseFloat('1'.repeat(2e6))",
		"number's alias":     "return Number.parseFloat('1'.repeat(2e6))",
		"raw JSON":           "return JSON.rawJSON('1'.repeat(5e6))",
		"wide repeat":        "return 'é'.repeat(9e6).length",
		"wide sum":           "const s = 'é'.repeat(5e6); return (s + s).length",
		"wide addition":      "let s = 'é'.repeat(5e6); s += s; return s.length",
		"wide template":      "const s = 'é'.repeat(5e6); return `${s}${s}`.length",
		"wide concat":        "const s = 'é'.repeat(5e6); return s.concat(s).length",
		"wide pad":           "return 'é'.padStart(9e6, 'x').length",
		"wide list":          "const s = 'é'.repeat(5e6); return [s, s].join('').length",
		"wide replacement":   "return 'é'.repeat(5e5).replaceAll('é', 'x'.repeat(20) + 'é').length",
		"filled array-like":  "return Array.prototype.fill.call({length: 5e5}, 1).length",
		"turned array-like":  "return Array.prototype.toReversed.call({length: 5e5}).length",
		"cut array-like":     "return Array.prototype.slice.call({length: 5e5}).length",
		"recursion":          "function f() { return f() + 1 } return f()",
		"callbacks":          "function f() { [1].forEach(f) } return f()",
		"caught recursion":   "function f() { try { return f() } catch (e) { return f() } } return f()",
		"toJSON":             "const a = {toJSON() { return {a} }}; return JSON.stringify(a)",
		"deep text":          "return JSON.parse('['.repeat(1e6))",
		"deep value":         "let a = {}; for (let i = 0; i < 5000; i++) a = {a}; return JSON.stringify(a)",
		"deep list":          "let a = []; for (let i = 0; i < 100000; i++) a = [a]; return String(a)",
		"bound":              "let f = () => 1; for (let i = 0; i < 100000; i++) f = f.bind(null); return f()",
		"deep code":          "return eval('('.repeat(1e6))",
		"deep function":      "return new Function('!'.repeat(1e6) + '1')()",
		"deep result":        "let a = {}; for (let i = 0; i < 200; i++) a = {a}; return a",
		"endless":            "for (;;) {}",
		"endless generator":  "function* g() { for (;;) yield 1 } for (const x of g()) {}",
	} {
		t.Run(name, func(t *testing.T) {
			timeout := 200 * time.Millisecond
			if name == "push" || name == "doubling" {
				timeout = time.Minute // the memory limit ends these scripts
				defer runtime.GC()
			}
			var err error
			peak := peakHeap(func() {
				var f *compiledFunc
				if f, err = compileFunc(code, js.Options{Timeout: timeout}); err == nil {
					_, err = f.Call(bsonx.Missing)
				}
			})
			if peak > 3*maxHeapGrowth {
				t.Errorf("the heap had %d MiB", peak>>20)
			}
			if c := mongoerr.CodeOf(err); c != mongoerr.JSInterpreterFailure && c != codeResultTooDeep {
				t.Error(err)
			}
		})
	}
	for name, source := range map[string]string{
		"brackets": strings.Repeat("(", 300_000), "operators": strings.Repeat("!", 300_000) + "1",
		"words":  strings.Repeat("typeof ", 30_000) + "1",
		"arrows": strings.Repeat("a=>", 100_000) + "1", "sum": "1" + strings.Repeat("+1", 200_000),
		"length": strings.Repeat(" ", maxSource) + "1",
		"lists":  strings.Repeat("[1,", 100_000),
	} {
		if _, err := compileFunc(source, js.Options{}); mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDeepestSource compiles source code just within the limit of nesting.
func TestDeepestSource(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	n := maxNesting - 10
	for _, source := range []string{
		strings.Repeat("(", n) + "1" + strings.Repeat(")", n), strings.Repeat("!", n) + "1",
		"1" + strings.Repeat("+1", n/2),
		strings.Repeat("[", n) + strings.Repeat("]", n), strings.Repeat("a=>", n/3) + "1",
	} {
		if _, err := compileFunc(source, js.Options{}); err != nil {
			t.Errorf("%.10s: %v", source, err)
		}
	}
}

// TestLimitedLanguage uses the wrapped functions like ordinary scripts do.
func TestLimitedLanguage(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"[1, 2, 3].map(x => x * 2).filter(x => x > 2).join('-')":                                                                                                   "4-6",
		"[3, 1, 2].sort().reverse().concat([9], 5).toString()":                                                                                                     "3,2,1,9,5",
		"[...[1, 2], ...new Set([3])].length + '' + [].concat([1], 2).indexOf(2)":                                                                                  "31",
		"String([1, [2, [3, [4]]]].flat(Infinity))":                                                                                                                "1,2,3,4",
		"Array.from({length: 3}, (_, i) => i * i).join()":                                                                                                          "0,1,4",
		"'a,b'.split(',').length + 'abc'.replace(/b/g, x => x + x) + 'x'.repeat(3) + '7'.padStart(2, '0')":                                                         "2abbcxxx07",
		"(function(a, b) { return this.c + a + b }).bind({c: 1}, 2)(3) + ''":                                                                                       "6",
		"new (function(a) { this.a = a }.bind(null, 4))().a + ''":                                                                                                  "4",
		"Math.max.apply(null, [1, 5, 2]) + ''":                                                                                                                     "5",
		"(new RegExp('a(b)') instanceof RegExp) + RegExp('a(b)').exec('xab')[1] + /x/.constructor.name":                                                            "truebRegExp",
		"new Uint8Array([1, 2]).length + new Uint8Array(3).length + (new Uint8Array(1) instanceof Uint8Array) + ''":                                                "6",
		"eval('1 + 1') + new Function('a', 'b', 'return a + b')(1, 2) + (() => 1).constructor('return 5')() + ''":                                                  "10",
		"JSON.stringify({a: [1, {b: 'c'}], d: new Date(0)}) + JSON.parse('[1]')[0]":                                                                                `{"a":[1,{"b":"c"}],"d":"1970-01-01T00:00:00.000Z"}1`,
		"(() => { try { [1].map(() => { throw new Error('x') }) } catch (e) { return e.message } })()":                                                             "x",
		"JSON.stringify(Object.fromEntries(new Map([['a', 1], ['b', [2]]]))) + JSON.stringify(Object.fromEntries([[], {}]))":                                       `{"a":1,"b":[2]}{}`,
		"'a'.localeCompare('b') + new Uint8Array([1, 2]).toLocaleString()":                                                                                         "-11,2",
		"(() => { try { Object.fromEntries([1]) } catch (e) { return e.name } })()":                                                                                "TypeError",
		"[...new Map([[], [1], [, 2], {}]).entries()].join(';')":                                                                                                   ",;1,",
		"[...'aé😀'].length + '' + [...new Map([[1, 2]]).keys(), ...'a1b2'.matchAll(/\\d/g)].join()":                                                                "31,1,2",
		"(() => { for (const [k, v] of [[1, 2]].entries()) return k + ':' + v })()":                                                                                "0:1,2",
		"'éa'.replaceAll('', '-') + 'aba'.replaceAll('', '-')":                                                                                                     "-é-a--a-b-a-",
		"'x'.repeat(1e5).split(/,/).length + ',' + 'x,'.repeat(1e4).split(/,/).length":                                                                             "1,10001",
		"'x,'.repeat(1e5).split(/,(?=x)/, 3).join() + 'x,'.repeat(1e4).split(',').length":                                                                          "x,x,x10001",
		"('xy' + 'z'.repeat(18)).repeat(4e3).replace(/(?<a>x)(y)/g, '$2$<a>').slice(-20, -17) + ('x' + 'y'.repeat(19)).repeat(4e3).replace(/x/g, () => '').length": "yxz76000",
		"('x' + 'y'.repeat(19)).repeat(4e3).match(/x/g).length + ('x' + 'y'.repeat(19)).repeat(4e3).replaceAll('x', '$&$&').length + ''":                           "88000",
		"parseFloat(' 1.5x') + Number.parseFloat('2') + Date.parse('1970-01-01T00:00:01Z') + '' + Date.parse('x'.repeat(5e3))":                                     "1003.5NaN",
		"JSON.parse('[\"a,\\\\\\\\\", \"[\"]').join('')":                                                                                                           "a,\\[",
		"'É'.repeat(1e5).toLowerCase().slice(-1) + 'X'.repeat(2e7).toLowerCase().slice(-1) + 'E\u0301'.normalize().length":                                         "éx1",
	} {
		got, err := compile(t, code).Call(bsonx.Missing)
		if err != nil || got.Str() != want {
			t.Errorf("%s: %s, %v", code, bsonx.FormatShell(got), err)
		}
	}
}

// TestLimitsAreRangeErrors requires that scripts can catch the errors of limits as RangeError.
func TestLimitsAreRangeErrors(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"Array(2e6).fill(1)", "'x'.repeat(1e9)", "[].includes.call({length: 1e6})", "'é'.repeat(5e6)",
		"new RegExp('a'.repeat(40000))",
		"JSON.parse('[' + '1,'.repeat(3e5) + '1]')", "const a = []; a[0] = a; JSON.stringify(a)",
	} {
		got, err := compile(t, "try { "+code+" } catch (e) { return e instanceof RangeError && e.name === 'RangeError' }").Call(bsonx.Missing)
		if err != nil || !got.Identical(bsonx.Bool(true)) {
			t.Errorf("%s: %s, %v", code, bsonx.FormatShell(got), err)
		}
	}
}

// TestIterationIsInterrupted runs instructions that visit a whole list. Each must notice an earlier
// interrupt.
func TestIterationIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"[...list]", "((...a) => a.length)(...list)", "const [...rest] = list", "new Set(list)",
		"new Map(list.map(x => [x, x]))", "new Uint8Array(new Set(list))",
		"[...new Set(list)]", "[...new Map(list.map(x => [x, x]))]", "[...'x'.repeat(list.length)]",
		"[...'x'.repeat(list.length).matchAll(/x/g)]",
		"Array.from(list)", "Object.fromEntries(list.map(x => [x, x]))",
		"new WeakSet(list.map(x => ({x})))", "[...new Uint8Array(list)]",
	} {
		e, err := newEngine()
		if err != nil {
			t.Fatal(err)
		}
		if err := e.rt.Set("ended", func() { why := "the test"; e.watch.ended.Store(&why) }); err != nil {
			t.Fatal(err)
		}
		// The goja runtime is not interrupted: its interrupt would end the next instruction and not
		// the running one.
		source := "const list = Array.from({length: 5000}, (_, i) => i); ended(); " + code
		err = e.run(func() error {
			_, err := e.rt.RunString(source)
			return err
		})
		if err == nil || !strings.Contains(asFailure(err).Error(), "Interrupted: the test") {
			t.Errorf("%s: %v", code, err)
		}
		e.watch.resume()
	}
}

// TestSearchIsInterrupted runs regular expressions with long searches while an interrupt is
// pending. Each search must stop.
func TestSearchIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"/(a?){300}b/.test(text)", "/(a?){300}b/.exec(text)", "/(a?){300}b/g.test(text)", "/(a?){300}b/y.exec(text)",
		"/(a?){300}b/u.test(text)", "/(a?){300}b/.test(wide)",
		"text.match(/(.*a){25}$b/)", "text.match(/(.*a){25}$b/g)", "text.match('(.*a){25}$b')",
		"text.search(/(.*a){25}$b/)", "text.search(['(.*a){25}$b'])", "text.split(/(.*a){25}$b/)",
		"text.replace(/(a{1,500}b?){1,2}$z/g, '')", "text.replaceAll(/(a{1,500}b?){1,2}$z/g, '')",
		"[...text.matchAll(/(a?){300}b/g)]", "new (class extends RegExp {})('(a?){300}b').test(text)",
		"RegExp.prototype.exec.call(/(a?){300}b/, text)", "/a/.compile('(a?){300}b').test(text)", "new RegExp(/(a?){300}b/, 'i').test(text)", "new RegExp({toString() { return '(a?){300}b' }}).test(text)",
		"(() => { const r = /(a?){300}b/g; r.lastIndex = {valueOf() { return 0 }}; return r.test(text) })()", "/(a?){1000}b/.test(text.slice(0, 5000))",
		"(() => { const r = /(a?){300}b/; Object.defineProperty(r, 'source', {value: 'a'}); Object.defineProperty(r, 'flags', {value: ''}); return r.test(text) })()",
		"eval('/(a?){300}b/').test(text)", "new Function('t', 'return /(a?){300}b/.test(t)')(text)",
		"JSON.stringify(shared)", "String(shared)", "shared.join()",
	} {
		e, err := newEngine()
		if err != nil {
			t.Fatal(err)
		}
		if err := e.rt.Set("ended", func() { why := "the test"; e.watch.ended.Store(&why) }); err != nil {
			t.Fatal(err)
		}
		source := "const text = 'a'.repeat(20000), wide = 'é' + text; let shared = []; for (let i = 0; i < 12; i++) shared = [shared, shared]; ended(); " + code
		err = e.run(func() error {
			_, err := e.runSource(source)
			return err
		})
		if err == nil || !strings.Contains(asFailure(err).Error(), "Interrupted: the test") {
			t.Errorf("%s: %v", code, err)
		}
		e.watch.resume()
	}
}

// TestEngineFault causes a panic in goja, and a panic in a Go function that a script calls.
func TestEngineFault(t *testing.T) {
	t.Parallel()
	e, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	err = e.run(func() error {
		var none *goja.Object
		none.Get("x")
		return nil
	})
	if mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure || !strings.Contains(err.Error(), "nil pointer") {
		t.Errorf("a fault of the engine: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a fault of a Go function passed as one of the script")
		}
	}()
	_ = e.run(func() error { panic("a fault") })
}
