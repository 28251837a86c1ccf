// Package node runs scripts of mongosh 2 and Mongoose 9 against a Sheaf server.
//
// Each script is a list of checks. It prints a line for each check, and at the end their number.
// The npm packages come from package npm. If npm is not installed, the tests are skipped.
package node
