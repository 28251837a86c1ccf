// Command differential asks two MongoDB-compatible servers the same random questions and reports
// where their answers differ.
//
//	go run ./differential -a URI -b URI -n 20000 -seed 7
//
// Concepts:
//
//   - A group is a collection with random documents and indexes and a list of random commands. It
//     is generated from the seed and its own number alone, so that `-seed S -group N` repeats it.
//   - A case is one command of a group: it is sent to both servers and the replies are compared.
//     After a command that writes, the whole collection is compared too, as part of the same case.
//   - A difference is shrunk to the fewest documents, indexes, commands and fields that still show
//     it, and printed as a list of commands in Extended JSON that `-replay FILE` runs.
//
// Invariants:
//
//  1. Replies are compared by what they mean: results, counts and error codes, never texts. Values
//     compare by BSON type and value, documents by field order too.
//  2. No case depends on what MongoDB leaves open: results without a total sort order are compared
//     as multisets, a command that picks one document names it by _id or by a total sort order,
//     values that a server makes up (generated ids, the present time) are replaced by marks.
//  3. No difference is passed over for what it looks like. Where the manual leaves an answer open,
//     or MongoDB 9.0 differs from 8.0, a settlement (settle.go) asks both servers again, in words
//     that leave nothing open, or compares all but that. The error codes that 9.0 renumbered are
//     translated one by one (versions.go). What the 9.0 engine does wrong is not generated.
//
// With -scan-b the indexes are made on server A only: the two may then be the same server, and
// every answer checks that an indexed plan and a collection scan agree.
//
// To add a command or an operator, add a generator to the table of its family: commands in
// commands.go, predicates in filters.go, update operators in updates.go, projections in
// projections.go, values in values.go.
package main
