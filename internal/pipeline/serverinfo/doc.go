// Package serverinfo implements the stages that report on the server: $collStats, $currentOp,
// $indexStats, $listSessions, $listLocalSessions and $planCacheStats.
//
// The parsers check the arguments. A running stage gets its documents from the source.Diagnostics
// of the environment, which has a method for each of them.
//
// Invariants:
//
//  1. The documents are requested once, at the first call of Next.
//  2. Without Diagnostics the stage yields no documents.
//
// The package does not access the server itself and does not check permissions.
//
// To add a stage, write its parser in a file named for the stage, add the definition to the table
// of package pipeline, and give source.Diagnostics a method for it.
package serverinfo
