// Package node runs scripts of mongosh 2 and Mongoose 9 against a Sheaf server, as their users
// would.
//
// Each script is a list of checks; it prints a line for each and ends with the count. The npm
// packages come from package npm. Without npm the tests are skipped.
package node
