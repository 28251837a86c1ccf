// Package explain writes the reply of the explain command: the plan, and the statistics of a run.
//
// A Request says which command is explained, and in how much detail. Run runs the chosen plan if
// the verbosity demands it. Package node writes the stages. This package adds the query, the stage
// of a write around the plan of its targets, the statistics and the rejected plans. Trial writes
// the same for an entry of the plan cache.
//
// Invariants:
//
//  1. Explaining changes nothing: writes are tried on copies, and the plan cache is neither read
//     nor filled.
//  2. Names, order and types of fields are MongoDB's.
//  3. The reply stays below the size that clients accept. A warning names each omitted part.
//
// The package does not choose plans. To explain another command, add a Command and its stage in
// writeStage.
package explain
