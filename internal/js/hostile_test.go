package js

import (
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestHostileResults has results and exceptions that are not what they seem. Each call ends soon, with an error.
func TestHostileResults(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"return {_bsontype: 'ObjectId'}", "return {_bsontype: 'BinData'}", "return {_bsontype: 'NumberLong'}", "return {_bsontype: 'NumberDecimal'}",
		"return {get _bsontype() { throw 1 }}", "return (async () => 1)()", "return Promise.resolve(1)",
		"throw {toString() { throw 1 }}", "throw {toString() { return {} }}", "throw Object.create(null)", "throw {toString() { for (;;) {} }}",
		"const e = new Error('x'); Object.defineProperty(e, 'message', {get() { for (;;) {} }}); throw e",
		"try { sleep() } catch (e) { Object.defineProperty(e, 'value', {get() { for (;;) {} }}); throw e }",
		"try { sleep() } catch (e) { const a = []; a.length = 4e9; Object.defineProperty(e, 'value', {value: a}); throw e }",
		"function* g() { yield* g() } return [...g()]", "function* g() { for (const x of g()) yield x } for (const x of g());",
		"sleep(Array(4e9))", "NumberLong('9'.repeat(3e7))", "NumberLong.prototype.compare.call({digits: '9'.repeat(3e7)}, 1)", "new NumberLong({toString: () => '9'.repeat(3e7)})",
		"return new Date(0).toLocaleString('de')", "return 1..toLocaleString('de')", "return [1].toLocaleString('de')", "return 'a'.localeCompare('b', 'de')", "return 'a'.toLocaleUpperCase('tr')",
	} {
		begin := time.Now()
		f, err := New(code, Options{Timeout: 200 * time.Millisecond})
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
		"return new String('x')":                                                  bsonx.String("x"),
		"const a = [1]; Object.setPrototypeOf(a, null); return a[0]":              bsonx.Double(1),
		"return [1, new Date(0)].toLocaleString().slice(0, 2)":                    bsonx.String("1,"),
		"return 'a'.localeCompare('b') + 'I'.toLocaleLowerCase()":                 bsonx.String("-1i"),
		"return NumberLong(NumberLong('9223372036854775807')).exactValueString()": bsonx.String("9223372036854775807"),
	} {
		if got, err := compile(t, code).Call(bsonx.Missing); err != nil || !got.Identical(want) {
			t.Errorf("%s: %s, %v", code, bsonx.FormatShell(got), err)
		}
	}
}
