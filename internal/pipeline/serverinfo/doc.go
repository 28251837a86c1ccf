// Package serverinfo implements the stages that report on the server: $collStats, $currentOp,
// $indexStats, $listSessions, $listLocalSessions and $planCacheStats.
//
// The parsers check the arguments. A running Stage gets its documents from the source.Diagnostics
// of the environment, by the name and argument of the stage.
//
// Invariants:
//
//  1. The documents are requested once, at the first call of Next.
//  2. Without Diagnostics the stage yields no documents.
//
// The package does not access the server itself and does not check permissions.
//
// To add a stage, write its parser in a file named for the stage, add the definition to the table
// of package pipeline, and implement the report in the Diagnostics of the server.
package serverinfo
