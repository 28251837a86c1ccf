// Package crashtest kills, starves, damages and cuts off a whole server, takes its power away, and
// checks what is left. It has tests only.
//
// Concepts:
//
//   - A child is a real `sheaf serve` process on a directory that outlives it. It is killed with
//     SIGKILL at random moments, sometimes while it is still starting, and started again.
//   - Each worker owns its documents, so that it knows their state without asking. The model keeps
//     for each document the states that it may have: one while nothing is under way, the state
//     before and after while a write was sent and not acknowledged.
//   - A site is where a server comes and goes while clients work on: retriers, which send the same
//     bytes until they are answered, and programs, which use the driver as applications do, over a
//     network that loses connections (torture.Proxy). Each step of theirs ends with an answer, so
//     that they know exactly what there is.
//   - A machine is a server in the test's process whose disk forgets what was not synced.
//   - Catalog workers own whole databases in the same way: their states are sets of collections and
//     indexes.
//
// What is checked after every round:
//
//  1. Every acknowledged write is there; one that was not acknowledged is there whole or not at
//     all.
//  2. Every index agrees with its collection (validate with full), and the count without a filter
//     is that of a scan.
//  3. An index whose build was interrupted is built after the restart, or gone where the build must
//     fail.
//  4. The catalog has exactly the collections and indexes of one of the states that the model
//     allows.
//  5. At the end nothing in storage belongs to a dropped collection or index.
//  6. A transaction over several collections is there whole or not at all, with the collections
//     that it made.
//  7. A retryable write or commit that was sent again was done once, and answered as at first.
//  8. The log of changes, and a change stream of everything that is resumed each time, make exactly
//     the collections (follower).
//  9. After a loss of power everything durable is there, and of the rest a prefix.
//  10. A store with a missing, cut, changed or exchanged file has all documents, or an error names
//     the file and nothing was lost
//     yet: who puts the file back has everything (damagematrix_test.go).
//
// The flags of package torture repeat and lengthen the tests:
//
//	go test ./internal/crashtest -run TestKill -v -torture.time=10m -timeout 2h
//
// The package knows the server as a client does, but for machines and for check 5, which opens the
// store itself. To test another kind of write, add a step to the tables in worker_test.go,
// retrysteps_test.go and driver_test.go.
package crashtest
