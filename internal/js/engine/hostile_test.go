package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestHostileResults runs scripts whose results and exceptions behave unexpectedly. Each call must
// end soon, with an error.
func TestHostileResults(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	// A list whose missing elements are searched in 3,000 prototypes.
	const plain = "let o = {}; for (let i = 0; i < 3000; i++) o = Object.create(o); const a = Array(1e5); "
	const deep = plain + "Object.setPrototypeOf(a, o); a.includes = [].includes; "
	for _, code := range []string{
		"return {_bsontype: 'ObjectId'}", "return {_bsontype: 'BinData'}", "return {_bsontype: 'NumberLong'}",
		"return {_bsontype: 'NumberDecimal'}",
		"return {get _bsontype() { throw 1 }}", "return (async () => 1)()", "return Promise.resolve(1)",
		"throw {toString() { throw 1 }}", "throw {toString() { return {} }}", "throw Object.create(null)",
		"throw {toString() { for (;;) {} }}",
		"const e = new Error('x'); Object.defineProperty(e, 'message', {get() { for (;;) {} }}); throw e",
		"try { sleep() } catch (e) { Object.defineProperty(e, 'value', {get() { for (;;) {} }}); throw e }",
		"try { sleep() } catch (e) { const a = []; a.length = 4e9; Object.defineProperty(e, 'value', {value: a}); throw e }",
		"function* g() { yield* g() } return [...g()]", "function* g() { for (const x of g()) yield x } for (const x of g());",
		"return [...{value: 1, [Symbol.iterator]() { return this }, next: Object.prototype.valueOf}]", "Math.max(...{[Symbol.iterator]() { return {next: Array} }})",
		deep + "return a.includes(1)", deep + "Math.max.apply(null, a)", deep + "Object.assign(a, Array(1e5).fill(1))",
		deep + "new Uint8Array(1e5).set(a)",
		plain + "Object.defineProperty(a, 0, {get() { a.__proto__ = o; }}); return a.lastIndexOf(1)",
		plain + "Object.defineProperty(a, 0, {get() { Object.setPrototypeOf(a, o) }}); return Math.max.apply(null, a)",
		"sleep(Array(4e9))", "NumberLong('9'.repeat(3e7))", "NumberLong.prototype.compare.call({digits: '9'.repeat(3e7)}, 1)", "new NumberLong({toString: () => '9'.repeat(3e7)})",
		"return new Date(0).toLocaleString('de')", "return 1..toLocaleString('de')", "return [1].toLocaleString('de')",
		"return 'a'.localeCompare('b', 'de')", "return 'a'.toLocaleUpperCase('tr')",
	} {
		begin := time.Now()
		f, err := compileFunc(code, js.Options{Timeout: 200 * time.Millisecond})
		if err == nil {
			_, err = f.Call(bsonx.Missing)
		}
		if mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure || time.Since(begin) > 20*time.Second {
			t.Errorf("%s: %v after %v", code, err, time.Since(begin))
		}
	}
	for code, want := range map[string]bsonx.Value{
		"const b = new Boolean(true); b.valueOf = 5; return b":                         bsonx.Bool(true),
		"const n = new Number(1); n.valueOf = () => ({}); return n":                    bsonx.Double(1),
		"function* g(n) { yield n; if (n) yield* g(n - 1) } return [...g(100)].length": bsonx.Double(101),
		"const a = [1]; Object.setPrototypeOf(a, null); return a[0]":                   bsonx.Double(1),
		"return [1, new Date(0)].toLocaleString().slice(0, 2)":                         bsonx.String("1,"),
		"return 'a'.localeCompare('b') + 'I'.toLocaleLowerCase()":                      bsonx.String("-1i"),
		"return NumberLong(NumberLong('9223372036854775807')).exactValueString()":      bsonx.String("9223372036854775807"),
		"return new String('x')": bsonx.String("x"),
	} {
		if got, err := compile(t, code).Call(bsonx.Missing); err != nil || !got.Identical(want) {
			t.Errorf("%s: %s, %v", code, bsonx.FormatShell(got), err)
		}
	}
}

// TestObjectsWithoutText runs scripts with objects that cannot be converted to text. Their errors
// must not show internals of the engine.
func TestObjectsWithoutText(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"throw Object.create(null)", "throw {toString: null, valueOf: null}", "return String(Object.create(null))",
		"return Object.create(null) + ''",
		"return `${Object.create(null)}`", "return +Object.create(null)", "return [Object.create(null)].join()",
		"return {[Object.create(null)]: 1}",
	} {
		_, err := compile(t, code).Call(bsonx.Missing)
		if err == nil || strings.Contains(err.Error(), "0x") || strings.Contains(err.Error(), "goja") {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// TestNativeIterators uses each built-in function as the method next of an iterator. A function
// that returns an object makes an endless iterator, so the iteration must notice an interrupt.
func TestNativeIterators(t *testing.T) {
	t.Parallel()
	e, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.rt.Set("end", func() { why := "the test"; e.watch.ended.Store(&why) }); err != nil {
		t.Fatal(err)
	}
	v, err := e.rt.RunString(nativeIterators)
	if err != nil {
		t.Fatal(err)
	}
	e.watch.resume()
	var endless []string
	if err := e.rt.ExportTo(v, &endless); err != nil {
		t.Fatal(err)
	}
	for _, name := range endless {
		t.Errorf("%s does not hear an interrupt", name)
	}
}

const nativeIterators = `(() => {
	const makers = [() => ({}), () => [], () => new Map(), () => new Set(), () => new WeakMap(), () => new WeakSet(), () => new Date(0), () => /x/g, () => new Uint8Array(4),
		() => new ArrayBuffer(8), () => new DataView(new ArrayBuffer(8)), () => Promise.resolve(1), () => [].values(), () => new Map().values(), () => new Set().values(),
		() => 'abc'[Symbol.iterator](), () => 'a'.matchAll(/a/g), () => new String('x'), () => new Number(1), () => new Boolean(1), () => Object(Symbol()), () => new Error('x'),
		() => Promise, () => Uint8Array, () => function() {}, () => (function*() {})(), () => function*() {}, () => async function() {}];
	const { apply } = Reflect, seen = new Set(), functions = new Map(), text = Function.prototype.toString;
	const isObject = x => x !== null && (typeof x === 'object' || typeof x === 'function');
	const walk = (x, path) => {
		if (!isObject(x) || seen.has(x)) return;
		seen.add(x);
		if (typeof x === 'function' && text.call(x).includes('[native code]')) functions.set(x, path);
		walk(Object.getPrototypeOf(x), path + '.__proto__');
		for (const key of Reflect.ownKeys(x)) {
			const d = Object.getOwnPropertyDescriptor(x, key), name = path + '.' + String(key);
			walk(d.value, name);
			walk(d.get, name + ' (get)');
			walk(d.set, name + ' (set)');
		}
	};
	walk(globalThis, 'globalThis');
	for (const make of makers) walk(make(), 'a value of ' + make);
	const endless = (fn, receiver) => {
		for (let i = 0; i < 300; i++) {
			let step;
			try { step = apply(fn, receiver, []); } catch (e) { return false; }
			if (!isObject(step) || step.done) return false;
		}
		return true;
	};
	functions.delete(sleep);
	functions.delete(Function.prototype.call); // what it calls hears the interrupt
	const receivers = makers.map(make => make()), list = [...functions], found = [];
	end();
	for (let i = 0; i < list.length; i++) {
		const fn = list[i][0], name = list[i][1];
		for (let j = 0; j < receivers.length; j++) {
			if (!endless(fn, receivers[j])) continue;
			found[found.length] = name;
			break;
		}
	}
	return found;
})()`

// TestDeepChains writes to objects with as many prototypes as the memory of a call allows. A stack
// that grows too large would end the process. The test takes 2 GB of memory.
func TestDeepChains(t *testing.T) {
	if !*everyBuiltin {
		t.Skip("run it with -js.builtins")
	}
	for _, n := range []string{"2e6", "3e6", "4e6"} {
		code := "function F() {} let o = {}; for (let i = 0; i < " + n +
			"; i++) { F.prototype = o; o = new F() } o.x = 1"
		f, err := compileFunc(code, js.Options{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Call(bsonx.Missing); mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure {
			t.Errorf("%s prototypes: %v", n, err)
		}
	}
}
