// Package pcre matches Perl-compatible regular expressions as MongoDB does: in UTF-8 mode, with
// ASCII character classes, and a dollar sign that also matches before a final newline.
//
// A pattern is written for one or both of two engines:
//
//   - Go's regexp, in linear time, if the pattern means the same there;
//   - regexp2, which backtracks and has a time limit, for look-around, back references, atomic
//     groups and possessive quantifiers.
//
// Concepts:
//
//   - The translator (translate.go) implements the grammar. It handles everything that the engines
//     treat differently: flags, anchors, classes, group numbers.
//   - The scanner (scan.go) reads characters, numbers and names. A classReader (class.go) reads one
//     character class. A referrer (referrer.go) reads references, calls and conditions.
//   - The emitter (emit.go) writes both outputs. It tracks the length of a match and the size of
//     PCRE2's program.
//   - The directory (directory.go) lists the groups. A pattern that refers to its groups is read
//     twice.
//   - Findings (errors.go) are the errors that PCRE2 finds after it has read the whole pattern.
//
// Invariants:
//
//  1. A Regexp is immutable and safe for concurrent use.
//  2. The result does not depend on the engine.
//  3. If a pattern is valid in PCRE and neither engine can run it (recursion, most verbs), Compile
//     returns NotImplemented, never a Regexp with wrong results. If a pattern is invalid in PCRE,
//     Compile fails with PCRE2's text.
//
// Match reports whether a text matches. Find and FindAll (find.go) return positions and captures.
// The package does not replace or split texts.
//
// To add an escape, see escape.go, or scan.go if it stands for one character. To add a group, see
// group.go.
package pcre
