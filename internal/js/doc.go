// Package js is what filters, expressions and commands know of JavaScript: the functions of $where,
// $function, $accumulator and mapReduce, and the limits of their calls.
//
// The engine that runs them is in internal/js/engine. A program chooses it by importing
// github.com/sheafdb/sheaf/js, which calls Use: the engine is a tenth of an embedding program, and
// most programs need no JavaScript.
//
// Invariants:
//
//  1. Without an engine, New and NewInterp fail as they do with Options.Disabled: with MongoDB's
//     error for a server whose JavaScript is disabled.
//  2. Use is called before the program's main function, or never: afterwards the engine does not
//     change.
//
// The package does not compile or run anything itself. It does not know filters or expressions.
//
// To add something that functions can do: add a method to Func or Interp, and implement it in
// internal/js/engine.
package js
