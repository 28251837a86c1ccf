// Package engine runs the JavaScript of $where, $function, $accumulator and mapReduce with the goja
// engine.
//
// A function is compiled once and called for many documents. An interp is one engine with several
// functions. BSON values are converted to JavaScript values and back. BSON types that JavaScript
// does not have (ObjectId, NumberLong, NumberDecimal, Timestamp, BinData and others) become objects
// of the same classes as in MongoDB's engine (prelude.js).
//
// An engine is one JavaScript runtime. It consists of several parts. The watch tells long-running
// Go code whether the call was interrupted and has memory left. The converter converts BSON to
// JavaScript values and back. The limiter restricts built-in functions that visit lists and texts,
// and regexps restricts regular expressions.
//
// Invariants:
//
//  1. Several goroutines may call a compiled function. Each call uses an engine of its own while it
//     runs. Global variables that a function sets may or may not exist at its next call.
//  2. A call ends at its time limit, when its operation is interrupted, when it recurses too
//     deeply, or when the heap of the process grows too much while it runs.
//  3. A function can access only its arguments, the stored values of system.js and the variables
//     that the operation sets: no files, no network, no modules, no Go values.
//  4. Every failure is a JSInterpreterFailure (139), except an interrupt of the operation, results
//     that are too large or too deep, invalid documents of system.js, and the errors of functions
//     that interp.Define added.
//  5. A call is interrupted between two instructions, so the cost of one instruction is limited.
//     The built-in functions reject arguments that would take too much time, memory or stack
//     (limits.js). The nesting of source code is limited too. Regular expressions check for
//     interrupts while they search, or have a time limit (regexp.js). Exceptions are converted to
//     text within the call, because a function of the script may produce the text.
//  6. Code that creates a long text or list checks the memory first: the functions of limits.js,
//     and sums (concat.go).
//  7. Scripts cannot call the engine's own eval, which compiles texts without these checks
//     (eval.go).
//
// The package does not depend on filters or expressions. It has no database object.
//
// To add a class, define it in prelude.js with a _bsontype, convert to it in tojs.go, and from it
// in tobson.go.
package engine
