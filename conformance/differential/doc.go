// Command differential sends the same random commands to two servers that speak MongoDB's protocol.
// It reports where their answers differ.
//
//	go run ./differential -a URI -b URI -n 20000 -seed 7
//
// Concepts:
//
//   - A group is a list of random commands: they fill a collection, create indexes, and then query
//     and change it. It depends only on the seed and on its own number, so `-seed S -group N`
//     repeats it.
//   - A case is one command of a group. It is sent to both servers and the replies are compared.
//     After
//     a command that writes, the case also compares the whole collection.
//   - A difference is shrunk: documents, indexes, commands and fields are removed as long as it
//     stays.
//     The rest is printed as a list of commands in Extended JSON, which `-replay FILE` runs.
//
// Invariants:
//
//  1. Results, counts and error codes are compared, but not error messages. Values are compared by
//     BSON type and value, and documents also by the order of their fields.
//  2. No case depends on a choice that MongoDB leaves open. Results without a total order are
//     compared as multisets. A command that picks one document selects it by _id or by a total sort
//     order. Values that a server generates (ids, the present time) are replaced by marks.
//  3. A difference is accepted only with evidence. Some answers are open in the manual, and some
//     differ between MongoDB 9.0 and 8.0. For these a settlement (settle.go) sends both servers an
//     equivalent command without the open point, or compares everything except the open point.
//     Error codes that 9.0 renumbered are translated one by one (versions.go). Commands that the
//     9.0 engine answers wrongly are not generated.
//
// With -scan-b, indexes are created on server A only. Both servers may then be the same one. Each
// case checks that a plan with indexes and a collection scan give the same answer.
//
// To add a command or an operator, add a generator to the table of its family: commands in
// commands.go, predicates in filters.go, update operators in updates.go, projections in
// projections.go, values in values.go.
package main
