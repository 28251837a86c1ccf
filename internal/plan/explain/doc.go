// Package explain writes the reply of the explain command: what was planned, and what a run was
// like.
//
// A Request says what is explained and how much is told. Run runs the chosen plan where the
// verbosity asks for it. The stages are written by package node; this package adds the query, the
// stage of a write around the plan of its targets, the statistics and the rejected plans. Trial
// writes the same for an entry of the plan cache.
//
// Invariants:
//
//  1. Explaining changes nothing: writes are tried on copies, the plan cache is neither asked nor
//     filled.
//  2. Names, order and types of fields are MongoDB's.
//  3. The reply stays below the size that clients accept; what is left out is named in a warning.
//
// It does not choose plans. To explain another command: a Command, and its stage in writeStage.
package explain
