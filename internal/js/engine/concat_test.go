package engine

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestGrowthIsCounted runs scripts that allocate much memory in few instructions, without the
// guard's timer. Each script must end soon after it exceeds its memory limit.
func TestGrowthIsCounted(t *testing.T) {
	torture.NeedsLong(t)
	const growth = 32 << 20
	for name, code := range map[string]string{
		"plus":               "let s = 'xy'; for (let i = 0; i < 28; i++) s = s + s",
		"assigned":           "let s = 'xy'; for (let i = 0; i < 28; i++) s += s",
		"member":             "const o = {s: 'xy'}; for (let i = 0; i < 28; i++) o.s += o.s",
		"element":            "const o = ['xy']; let at = 0; for (let i = 0; i < 28; i++) o[at] += o[at]",
		"private":            "const o = new (class { #s = 'xy'; grow() { this.#s += this.#s } }); for (let i = 0; i < 28; i++) o.grow()",
		"default":            "const f = (s, t = s + s) => t; let s = 'xy'; for (let i = 0; i < 28; i++) s = f(s)",
		"template":           "let s = 'xy'; for (let i = 0; i < 28; i++) s = `${s}${s}`",
		"long template":      "const s = 'x'.repeat(1e7); return `" + repeated("${s}", 60) + "`.length",
		"long sum":           "const s = 'x'.repeat(1e7); return (" + repeated("s +", 60) + " s).length",
		"condition":          "let s = 'xy'; for (let i = 0; i < 28; i++) s = s && (s + s)",
		"object's text":      "let s = 'xy'; const o = {toString() { return s }}; for (let i = 0; i < 28; i++) s = o + o",
		"wide characters":    "let s = 'é😀'; for (let i = 0; i < 27; i++) s += s",
		"concat":             "let s = 'xy'; for (let i = 0; i < 28; i++) s = s.concat(s)",
		"join":               "let s = 'xy'; for (let i = 0; i < 28; i++) s = [s, s].join('')",
		"replace":            "let s = 'xy'; for (let i = 0; i < 28; i++) s = s.replace(/^/, s)",
		"eval":               "let s = 'xy'; const f = eval('(s) => s + s'); for (let i = 0; i < 28; i++) s = f(s)",
		"direct eval":        "let s = 'xy'; for (let i = 0; i < 28; i++) eval('s += s')",
		"eval's variable":    "let s = 'xy'; eval('for (var i = 0; i < 28; i++) s = `${s}${s}`')",
		"eval in a function": "let s = 'xy'; const f = eval('() => { s = s + s }'); for (let i = 0; i < 28; i++) f()",
		"eval in eval":       "let s = 'xy'; for (let i = 0; i < 28; i++) eval('eval(\"s += s\")')",
		"strict eval":        "'use strict'; let s = 'xy'; for (let i = 0; i < 28; i++) s = eval('s + s')",
		"function":           "let s = 'xy'; const f = new Function('s', 'return s + s'); for (let i = 0; i < 28; i++) s = f(s)",
		"hidden name":        "let s = 'xy'; with ({' concat': (a, b) => a + b}) for (let i = 0; i < 28; i++) s = s + s",
		"global name":        "try { globalThis[' concat'] = null } catch (e) {} let s = 'xy'; for (let i = 0; i < 28; i++) s = s + s",
		"redefined name":     "try { Object.defineProperty(globalThis, ' concat', {value: 1}) } catch (e) {} let s = 'xy'; for (let i = 0; i < 28; i++) s = s + s",
		"text of an object":  "let o = {a: 'xy'}; for (let i = 0; i < 28; i++) o = {a: tojson(o) + tojson(o)}",
		"texts in a list":    "const a = []; for (let i = 0; i < 600; i++) a.push('x'.repeat(1e6))",
		"sums in a list":     "const a = [], s = 'x'.repeat(1e6); for (let i = 0; i < 600; i++) a.push(s + i)",
		"lists in a list":    "const a = [], b = new Array(1e5).fill(1); for (let i = 0; i < 400; i++) a.push(b.slice())",
		"spread lists":       "const a = [], b = new Array(1e5).fill(1); for (let i = 0; i < 200; i++) a.push([...b])",
		"typed arrays":       "const a = []; for (let i = 0; i < 400; i++) a.push(new Float64Array(1e5))",
		"copies of a buffer": "const a = [], b = new Uint8Array(1e6); for (let i = 0; i < 600; i++) a.push(b.slice())",
		"upper case":         "const a = [], s = 'x'.repeat(1e6); for (let i = 0; i < 600; i++) a.push(s.toUpperCase() + i)",
		"json":               "const a = [], s = ['x'.repeat(1e6)]; for (let i = 0; i < 600; i++) a.push(JSON.stringify(s))",
		"parsed":             "const a = [], s = JSON.stringify(['x'.repeat(1e6)]); for (let i = 0; i < 600; i++) a.push(JSON.parse(s))",
		"split":              "const a = [], s = 'x'.repeat(1e5); for (let i = 0; i < 200; i++) a.push(s.split(''))",
		"keys":               "const a = [], o = {}; for (let i = 0; i < 1e5; i++) o[i] = 1; for (let i = 0; i < 100; i++) a.push(Object.keys(o))",
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GC()
			e, err := newEngine()
			if err != nil {
				t.Fatal(err)
			}
			fn, err := e.function("(function() { " + code + " })")
			if err != nil {
				t.Fatal(err)
			}
			e.watch.guarded = &guard{watch: &e.watch, growth: growth, most: math.MaxUint64}
			e.watch.guarded.heap, _, _ = memorySize()
			peak := peakHeap(func() {
				err = e.run(func() error {
					_, err := fn(goja.Undefined())
					return err
				})
			})
			if err == nil {
				t.Error("it did not end")
			}
			// The heap also contains garbage and the result of the last instruction.
			if peak > e.watch.guarded.heap+4*growth {
				t.Errorf("the heap grew from %d to %d MiB", e.watch.guarded.heap>>20, peak>>20)
			}
		})
	}
}

// peakHeap runs f and returns the largest heap size that it samples meanwhile.
func peakHeap(f func()) (peak uint64) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			heap, _, _ := memorySize()
			peak = max(peak, heap)
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(done)
	<-ended
	return peak
}

func repeated(s string, n int) (all string) {
	for range n {
		all += s
	}
	return all
}

// TestSums requires that checked sums give the same results as JavaScript, in the same order of
// evaluation.
func TestSums(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"const a = 1, b = 2; return '' + (a + b) + [a + 'b', a + null, b + undefined]":                                          "31b,1,NaN",
		"let a = [1], b = {}; return a + b":                                                                                     "1[object Object]",
		"const log = []; const v = (x) => ({valueOf() { log.push(x); return x }}); v(1) + v(2); return log + ''":                "1,2",
		"let i = 0; const o = {get a() { i++; return {b: 'x'} }}; o.a.b += 'y'.concat(i); return i + ''":                        "1",
		"let i = 0; const l = ['a', 'b'], x = 'z'; l[i++] += x; return l + '' + i":                                              "az,b1",
		"var s = 'a', x = 'b'; s += x; s += s; return s":                                                                        "abab",
		"const x = 'b', y = 2; return `a${x}c${y}d${x + y}`":                                                                    "abc2db2",
		"const x = 'b'; return `${x}` + `` + `${x}${x}\\n`.length":                                                              "b3",
		"const tag = (s, ...v) => s.raw.join('|') + v; const a = 1, b = 2; return tag`x${a}y${b}\\n`":                           "x|y|\\n1,2",
		"const f = (a, b) => a + b; return f.toString() + f(1, 2)":                                                              "(a, b) => a + b3",
		"const f = function(a, b = a + a) { return a + b }; return f.length + f('x')":                                           "1xxx",
		"class A { s = 'a'; static t = 'b'; add(x) { return this.s + x + A.t } } const c = 'c'; return new A().add(c)":          "acb",
		"const s = Symbol('x'), e = ''; try { return s + e } catch (err) { return err.name }":                                   "TypeError",
		"const c = 'a', d = 'b'; try { c += d } catch (err) { return err.name }":                                                "TypeError",
		"const d = 'b'; try { missing += d } catch (err) { return err.name }":                                                   "ReferenceError",
		"let a = 'a', b = 'b'; return eval('a = \"c\"; a') + (0, eval)('1 + 1') + eval(5) + a + b":                              "c25cb",
		"try { eval('(') } catch (e) { return e.name }":                                                                         "SyntaxError",
		"try { new Function('(') } catch (e) { return e.name }":                                                                 "SyntaxError",
		"const a = 1, b = 2; return new Function('a', 'b', 'return a + b').toString() + Function('a, b', 'return a + b')(a, b)": "function anonymous(a,b\n) {\nreturn a + b\n}3",
		"try { eval('throw new RangeError(1)') } catch (e) { return e.name }":                                                   "RangeError",
		"const d = new Date(0), s = ''; return (d + s).slice(0, 3)":                                                             "Thu",
	} {
		got, err := compile(t, code).Call(bsonx.Missing)
		if err != nil || got.Str() != want {
			t.Errorf("%s: %s, %v", code, bsonx.FormatShell(got), err)
		}
	}
}
