// Package collation compares strings by the rules of a language, like MongoDB's collations.
//
// The weights of characters come from golang.org/x/text/collate. This package takes apart the sort
// keys of x/text, and combines their levels according to MongoDB's options, because x/text supports
// few of these options. Locales that x/text orders differently from ICU 57.1, the library of
// MongoDB, are rejected: see locales.go.
//
// Concepts:
//
//   - The rules of a specification create the collation key of a text. All collators of a
//     specification share them.
//   - A Collator compares, sorts and folds values with these rules. It may serve an operation whose
//     interrupt ends long comparisons (Serving).
//
// Invariants:
//
//  1. bytes.Compare of two keys gives the same result as Compare of the strings. Strings with equal
//     keys are equal.
//  2. bsonx.CompareValues and keystrings give folded values the order that the collation gives the
//     original values.
//  3. Two collators with the same specification create the same keys. Keys are stored in indexes: a
//     change of the keys is a change of the disk format.
//
// x/text supports Unicode 6.2, and ICU 57.1 supports Unicode 8.0. Characters that were added
// between these versions sort after all letters.
package collation
