package engine

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestDirectEval runs direct calls of eval, which see the variables of their caller.
func TestDirectEval(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"const a = 'x'; return eval('a + a')":                                                                                                           "xx",
		"let a = 'x'; eval('a = a + 1; a += a'); return a":                                                                                              "x1x1",
		"return (function() { return eval('this.s + this.s') }).call({s: 'x'})":                                                                         "xx",
		"return (function(a) { return eval('arguments[0] + arguments.length') })('x')":                                                                  "x1",
		"eval('var a = \"x\", [b, {c, d: [e] = [2], ...f}, ...g] = [1, {c: 3, h: 4}, 5]'); return a + b + c + e + f.h + g":                              "x13245",
		"eval('function f(n) { return n ? n + f(n - 1) : \"x\" }'); return f(2)":                                                                        "21x",
		"eval('for (var i = 0, s = \"\"; i < 3; i++) s += i; for (var k in {z: 1}) s += k'); return s + i + k":                                          "012z3z",
		"eval('let a = 1; const b = 2; class C {}'); return typeof a + typeof b + typeof C":                                                             "undefinedundefinedundefined",
		"const a = 'x'; eval('{ let a = \"y\"; var b = a + a }'); return b + a":                                                                         "yyx",
		"const s = eval('if (1) { \"x\" + 1 } else 2'); return s":                                                                                       "x1",
		"return eval('function f() {}') + ''":                                                                                                           "undefined",
		"return '' + eval('var a = 1')":                                                                                                                 "undefined",
		"return eval('({a: \"x\"})').a + eval('\"y\"; {}')":                                                                                             "xy",
		"const a = 'x'; const f = eval('() => { const b = a; return b + a }'); return f()":                                                              "xx",
		"let a = 1; const next = eval('() => a++'); next(); next(); return a + 'x'":                                                                     "3x",
		"const f = () => eval('a'); const a = 'x'; return f()":                                                                                          "x",
		"const f = eval('() => a'); let a = 'x'; return f()":                                                                                            "x",
		"try { eval('a') } catch (e) { return e.message } let a":                                                                                        "Cannot access a variable before initialization",
		"const a = 1; try { eval('a = 2') } catch (e) { return e.name }":                                                                                "TypeError",
		"try { return eval('missing') } catch (e) { return e.name + typeof eval('typeof missing') }":                                                    "ReferenceErrorstring",
		"try { eval('let b = 1; return b') } catch (e) { return e.name }":                                                                               "SyntaxError",
		"try { eval('let b = ;') } catch (e) { return e.name }":                                                                                         "SyntaxError",
		"try { eval('super.x') } catch (e) { return e.name }":                                                                                           "SyntaxError",
		"const f = function() { return typeof this.x }; return eval('f(), f()') + eval('f``') + eval('f?.()')":                                          "undefinedundefinedundefined",
		"const o = {x: 'y', f() { return this.x }}; return eval('o.f() + o[\"f\"]()')":                                                                  "yy",
		"'use strict'; let a = 'x'; eval('var b = 1; var a = 2'); return a + typeof b + eval('a + a')":                                                  "xundefinedxx",
		"let a = 'x'; const r = eval('\"use strict\"; var b = a + a; (function() { return this })() + b'); return r + typeof b":                         "undefinedxxundefined",
		"'use strict'; return eval('(function() { return this })()') + eval('this.x') + ''":                                                             "undefinedy",
		"const a = 'x'; return eval('eval(\"a + \" + JSON.stringify(a))')":                                                                              "xx",
		"const a = 'x'; return (0, eval)('typeof a') + eval?.('typeof a') + [\"typeof a\"].map(eval)":                                                   "undefinedundefinedundefined",
		"const a = 'x', own = eval; return own('typeof a') + (own === globalThis.eval) + eval.name":                                                     "undefinedtrueeval",
		"const f = (eval) => eval('a'); return f((s) => s + s)":                                                                                         "aa",
		"return eval() + '' + eval(5) + eval(...['\"x\"', 2]) + eval({}) + typeof eval":                                                                 "undefined5x[object Object]function",
		"class A { m() { return eval('this.v + this.v') } v = eval('\"x\"') } return new A().m()":                                                       "xx",
		"class A { constructor() { this.v = 'x' } } class B extends A { constructor() { super(); this.w = eval('this.v + this.v') } } return new B().w": "xx",
		"const s = eval('`a${1}b${2}`'), tag = (s, ...v) => s.join('|') + v; return s + eval('tag`x${1}y`')":                                            "a1b2x|y1",
		"function* g() { yield eval('1 + 1') } return [...g()] + ''":                                                                                    "2",
		"let $v = 'x'; eval('$v = $v + $v'); return $v":                                                                                                 "xx",
		"const undefined_ = eval('undefined'); return typeof undefined_":                                                                                "undefined",
		"eval('zz = 1'); return typeof globalThis.zz + zz":                                                                                              "number1",
		"return eval(\"'\\u2028é😀' + 'x'\").length + ''":                                                                                                "5",
		"try { eval('throw new RangeError(\"x\")') } catch (e) { return e.message }":                                                                    "x",
		"let n = 0; for (let i = 0; i < 3; i++) n += eval('i * 2'); return n + 'x'":                                                                     "6x",
	} {
		got, err := compile(t, code).Call(bsonx.Document(bsonx.NewDoc("x", "y")))
		if err != nil || got.Str() != want {
			t.Errorf("%s: %s, %v", code, bsonx.FormatShell(got), err)
		}
	}
}

// TestDirectEvalIsRefused runs direct calls of eval with texts that it must reject.
func TestDirectEvalIsRefused(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"eval('with (Math) max(1, 2)')": "with is not supported in the text of eval",
		"eval('('.repeat(1e6))":         "too much nesting",
		"eval('1n')":                    "big integers are not supported",
		"eval('let ' + Array.from({length: 20000}, (_, i) => 'a' + i))": "more than 10000 names",
		"globalThis[' run'](['('.repeat(1e6), false, () => 1, []])":     "too much nesting",
		"eval('/a{1000}{1000}/')":                                       "regular expression",
		"function f() { eval('f()') } f()":                              "too much recursion",
	} {
		_, err := compile(t, code).Call(bsonx.Missing)
		if mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// TestEngineEvalIsHidden requires that scripts cannot reach the engine's own eval, which does not
// check sums. Each script returns a function, whose name shows which eval it is.
func TestEngineEvalIsHidden(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"eval", "globalThis.eval", "globalThis['eval']", "eval('eval')", "(0, eval)('eval')",
		"({eval}).eval || Object.values({eval})[0]",
		"new Function('return eval')()", "eval('() => eval')()",
		"(() => { const {eval: own} = globalThis; return own })()", "eval('var other = eval; other')",
		"(() => { const f = () => eval; return f() })()", "eval('() => { return () => eval }')()()",
	} {
		source := "const own = " + code + "; let s = 'xy'; return '' + (own === globalThis.eval) + own('s => s + s').toString().length"
		got, err := compile(t, source).Call(bsonx.Missing)
		if err != nil || got.Str() != "true10" {
			t.Errorf("%s: %s, %v", code, bsonx.FormatShell(got), err)
		}
	}
}
