// Package pcre matches Perl-compatible regular expressions as MongoDB does: UTF-8 mode, ASCII
// character classes, and a dollar sign that also matches before a final newline.
//
// A pattern is read once and written for two engines:
//
//   - Go's regexp, in linear time, whenever the pattern means the same there;
//   - regexp2, which backtracks and has a time limit, for look-around, back references, atomic
//     groups and possessive quantifiers.
//
// Concepts:
//
//   - The translator (translate.go) is the grammar. It resolves what the engines disagree on:
//     flags, anchors, classes, group numbers.
//   - The scanner (scan.go) reads characters, numbers and names; a classReader (class.go) reads
//     one character class; a referrer (referrer.go) reads references, calls and conditions.
//   - The emitter (emit.go) writes both outputs, and counts what a match and PCRE2's program
//     take.
//   - The directory (directory.go) knows the groups. A pattern that refers to its groups is read
//     twice.
//   - Findings (errors.go) are the errors that PCRE2 finds after it has read the whole pattern.
//
// Invariants:
//
//  1. A Regexp is immutable and safe for concurrent use.
//  2. Which engine runs does not change the answer.
//  3. If a pattern is valid in PCRE and neither engine can run it (recursion, most verbs),
//     Compile returns NotImplemented, never a Regexp that answers wrongly. If a pattern is
//     invalid in PCRE, Compile fails with PCRE2's text.
//
// Match tells whether a text matches; Find and FindAll (find.go) return positions and captures.
// The package does not replace or split texts.
//
// To add an escape: escape.go, or scan.go if it stands for one character. To add a group:
// group.go.
package pcre
