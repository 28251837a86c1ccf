// Package compat writes docs/compatibility.md, the list of MongoDB's features that Sheaf supports,
// as the registries of the packages that parse commands, operators and stages say it. A test fails
// when the page is out of date; `make generate` renews it.
//
// To add a kind of names (accumulators, types of index), export its registry and add a section to
// sections.
package compat

//go:generate go run ./gen ../../docs/compatibility.md
