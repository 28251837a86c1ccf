// Package serverinfo has the stages whose documents come from the server: $collStats, $currentOp,
// $indexStats, $listSessions, $listLocalSessions and $planCacheStats.
//
// The parsers check the arguments. When the Stage is read it asks source.Diagnostics of the
// environment for its documents, by the stage's name and argument.
//
// Invariants:
//
//  1. The documents are asked for once, at the first Next.
//  2. Without Diagnostics the stage yields no documents.
//
// The package knows nothing of the server, and not who may ask.
//
// To add a stage, write its parser in a file named for it, add that to the table of package
// pipeline, and answer it in the Diagnostics of the server.
package serverinfo
