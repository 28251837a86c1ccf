// Package js is the interface to JavaScript for filters, expressions and commands: the functions of
// $where, $function, $accumulator and mapReduce, and the limits for calling them.
//
// The engine that runs the functions is in internal/js/engine. A program enables it by importing
// github.com/sheafdb/sheaf/js, which calls Use. It is optional, because the engine is a tenth of
// the size of an embedding program, and most programs need no JavaScript.
//
// Invariants:
//
//  1. Without an engine, New and NewInterp fail as with Options.Disabled: with MongoDB's error for
//     a server whose JavaScript is disabled.
//  2. Use is called before the program's main function, or never. Afterwards the engine does not
//     change.
//
// The package itself does not compile or run JavaScript, and does not depend on filters or
// expressions.
//
// To add an operation on functions, add a method to Func or Interp, and implement it in
// internal/js/engine.
package js
