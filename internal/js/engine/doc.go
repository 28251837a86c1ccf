// Package engine runs the JavaScript of $where, $function, $accumulator and mapReduce on the goja
// engine.
//
// A Func is compiled once and called for many documents; an Interp is one engine with several
// functions in it. BSON values become JavaScript values and back: what the language has no type for
// (ObjectId, NumberLong, NumberDecimal, Timestamp, BinData, …) are objects of the classes that
// MongoDB's own engine defines (prelude.js).
//
// An engine is one JavaScript runtime. Its watch tells code that runs long whether the call was
// interrupted and has memory left; its converter turns BSON into values and back. A limiter bounds
// the functions that go through lists and texts, regexps the regular expressions.
//
// Invariants:
//
//  1. A Func may be called by many goroutines; each call has an engine of its own while it runs.
//     Globals that a function sets may or may not be there at its next call.
//  2. A call ends: at its time limit, when its operation ends, when it recurses too deeply, or when
//     the process's heap grows too much while it runs.
//  3. A function reaches nothing but its arguments: no files, no network, no modules, no Go values.
//  4. Every failure is a JSInterpreterFailure (139), except the end of the operation, results that
//     are too large or too deep, and the errors of functions that Interp.Define added.
//  5. A call is interrupted between two instructions. What one instruction may take is bounded: the
//     language's own functions refuse what would take too much time, memory or stack (limits.js),
//     and so is the nesting of source code. Regular expressions look while they search, or end by
//     themselves (regexp.js). Exceptions become text within the call, too: a function of the script
//     may make it.
//  6. What makes a long text or list looks at the memory before: the functions of limits.js, and
//     sums (concat.go).
//  7. No script reaches the engine's own eval, which compiles texts without these checks (eval.go).
//
// The package does not know filters or expressions. It has no database object.
//
// To add a class: define it in prelude.js with a _bsontype, convert to it in tojs.go and from it in
// tobson.go.
package engine
