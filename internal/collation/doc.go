// Package collation compares strings by the rules of a language, as MongoDB's collations do.
//
// The weights of characters come from golang.org/x/text/collate, whose sort keys this package
// takes apart; the levels, and what the options make of them, are put together here, because
// x/text knows few of MongoDB's options. What x/text orders in another way than ICU 57.1,
// MongoDB's library, is refused: see locales.go.
//
// Concepts:
//
//   - The rules of a specification make the key of a text. All collators of the specification
//     share them.
//   - A Collator compares, sorts and folds by these rules, for an operation that may end
//     (Serving).
//
// Invariants:
//
//  1. bytes.Compare of two keys is Compare of the strings, and equal keys are equal strings.
//  2. A folded value compares, by bsonx.CompareValues and as a keystring, as the value does by
//     the collation.
//  3. Two collators whose specifications are the same bytes make the same keys. Keys are stored
//     in indexes: a change of the keys is a change of the format on disk.
//
// x/text has the characters of Unicode 6.2 and ICU 57.1 those of Unicode 8.0: the ones between
// stand behind all letters.
package collation
