// Package engine runs plans: it opens the target, prepares databases, drives the load, checks the invariants, and assembles the result.
//
// It removes nothing that is not its own: a database that it uses is empty, or carries its marker, a document in the collection MarkerCollection.
package engine
