// Package expressions builds the table of all expression operators from the packages that define
// them. Scope returns the outermost scope for parsing expressions, which has the system variables
// and the operators of the table. A command derives its own scope from it.
//
// The operators are defined where their code is, below internal/expr and in internal/accumulator.
// No package registers anything by being imported.
//
// Invariant: the names of the operators are distinct. Otherwise Table panics.
//
// To add an operator, add it to the list of its family. To add a family, add its list to table.go.
package expressions
