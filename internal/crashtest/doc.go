// Package crashtest kills a whole server, starves it, damages its files, cuts its network and its
// power, and checks the data afterwards. It has only tests.
//
// Concepts:
//
//   - A child is a server process on a directory that survives it: `sheaf serve` in the long form
//     and with SHEAF_BIN, otherwise the test's own program. It is killed with SIGKILL at random
//     moments, sometimes while it is still starting, and started again.
//   - Each worker owns its documents, so that it knows their state without reading them. The model
//     keeps the possible states of each document: one while no write is in progress, and the states
//     before and after a write that was sent but not acknowledged.
//   - A site is a server that stops and starts while clients work. Retriers send the same bytes
//     until they get a reply. Programs use the driver as applications do. Both use a network that
//     loses connections (torture.Proxy). Each of their steps ends with a reply, so that they know
//     the exact state.
//   - A machine is a server in the test's process whose disk loses everything that was not synced.
//   - Catalog workers own whole databases in the same way. Their states are sets of collections and
//     indexes.
//
// These conditions are checked after every round:
//
//  1. Every acknowledged write exists. A write that was not acknowledged exists completely or not
//     at all.
//  2. Every index agrees with its collection (validate with full), and the count without a filter
//     equals the count of a scan.
//  3. An index whose build was interrupted is built after the restart. If the build must fail, the
//     index is gone.
//  4. The catalog has exactly the collections and indexes of one of the states in the model.
//  5. At the end nothing in storage belongs to a dropped collection or index.
//  6. A transaction over several collections exists completely or not at all, including the
//     collections that it created.
//  7. A retryable write or commit that was sent again was done once, and its reply was the first
//     reply.
//  8. The oplog leads to exactly the collections of the server, and so does a change stream on
//     everything that is resumed each time (follower).
//  9. After a loss of power all durable writes exist, and a prefix of the others.
//  10. If a file of a store is missing, cut, changed or exchanged, either the store has all
//     documents, or an error names the file and no data is lost: putting the file back restores
//     everything (damagematrix_test.go).
//
// The flags of package torture repeat and lengthen the tests:
//
//	go test ./internal/crashtest -run TestKill -v -torture.time=10m -timeout 2h
//
// The package uses the server as a client does, except for machines and for check 5, which opens
// the store itself. To test another kind of write, add a step to the tables in worker_test.go,
// retrysteps_test.go and driver_test.go.
package crashtest
