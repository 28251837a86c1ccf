// Package report shows results of the simulator: live in a terminal, as a table, as Markdown for a pull request, and as one HTML file with charts
// that needs nothing else. It also compares two results, and puts the figures of the books beside one.
//
// All of them say first what makes figures worthless or weak: a run whose invariants are violated, one that is not whole, a server that was
// overloaded, a load generator that was late.
package report
