// Package engine runs plans: it opens the target, prepares databases, runs the load, checks the
// invariants, and assembles the result.
//
// It deletes only its own data: it uses a database only if that is empty, or carries the engine's
// marker, a document in the collection MarkerCollection.
package engine
