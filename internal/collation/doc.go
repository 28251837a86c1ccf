// Package collation compares strings by the rules of a language, as MongoDB's collations do.
//
// The weights of characters come from golang.org/x/text/collate. This package takes the sort keys
// of x/text apart, and combines the levels by MongoDB's options itself, because x/text knows few of
// these options. Locales that x/text orders differently from ICU 57.1, the library of MongoDB, are
// refused: see locales.go.
//
// Concepts:
//
//   - The rules of a specification make the collation key of a text. All collators of a
//     specification share them.
//   - A Collator compares, sorts and folds by these rules. It serves an operation that may end
//     (Serving).
//
// Invariants:
//
//  1. bytes.Compare of two keys equals Compare of the strings. Equal keys mean equal strings.
//  2. bsonx.CompareValues and keystrings order folded values as the collation orders the values.
//  3. Two collators with identical specifications make the same keys. Keys are stored in indexes:
//     a change of the keys is a change of the format on disk.
//
// x/text knows Unicode 6.2, and ICU 57.1 knows Unicode 8.0. Characters that were added between
// these versions sort after all letters.
package collation
