// Package adversarial attacks a database with pipelines that grow without limit, nest too deeply,
// run for ever, or are wrong in every way, over TCP and embedded. It has only tests.
//
// These conditions are checked:
//
//  1. Each such command fails with MongoDB's code, and the database still works afterwards.
//
//  2. The process's memory stays bounded.
//
//  3. Every stage that collects its input stops soon after the deadline of its command, after
//     killOp, and after its client has left.
//
//  4. A cursor over very many documents runs in constant memory (with -adversarial.long: ten
//     million documents).
//
//  5. Every command, expression, query operator, stage and update operator with a large value or a
//     large argument ends soon after its interrupt: a time limit, killOp or, if it reads, a client
//     that leaves. The limit is 250 ms of processor time, and 50 ms for 99 of 100 of each kind.
//     The lists come from the registries, so a new member without a case fails. An attack on a
//     stage also fails if the stage rejects it or computes nothing when the values are tiny.
//
// Without -adversarial.long only the quick tests run, over TCP.
//
// To add a command, write it into the table of cases_test.go as Extended JSON. -adversarial.only
// selects interrupted commands by name.
package adversarial
