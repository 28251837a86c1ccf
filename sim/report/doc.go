// Package report shows results of the simulator: live in a terminal, as a table, as Markdown for a
// pull request, and as one self-contained HTML file with charts. It also compares two results, and
// compares a result with the figures of the books.
//
// Every report first says what makes its figures invalid or weak: broken invariants, a partial run,
// an overloaded server, or a late load generator.
package report
