// Package expressions joins the operators of all families to the table that expressions are parsed
// with: Scope is the scope of the system variables and of these operators, from which a command
// makes its own.
//
// The operators are defined where their code is, below internal/expr and in internal/accumulator.
// No package registers anything by being imported.
//
// Invariant: a name stands once. Table panics otherwise.
//
// To add an operator, add it to the list of its family. To add a family, add its list to table.go.
package expressions
