// Package adversarial sends a database what would take it down: pipelines that grow without bound,
// nest too deeply, run for ever, or are wrong in every way, over TCP and embedded. It has tests
// only.
//
// What is checked:
//
//  1. Each such command fails with MongoDB's code, and the database answers afterwards.
//
//  2. The process's memory stays bounded.
//
//  3. Every stage that gathers its input stops soon after the deadline of its command, after
//     killOp, and after its client went away.
//
//  4. A cursor over very many documents runs in constant memory (with -adversarial.long: ten
//     million).
//
//  5. Every command, expression, query operator, stage and update operator over a large value, or
//     with a large argument, ends soon after its interrupt, a time limit, killOp or, if it reads, a
//     client that leaves. Processor time is measured, not the clock: at most 250 ms, and 50 ms for
//     99 of 100 of each kind. The lists come from the registries: a new member without a case
//     fails. So does an attack on a stage that, with tiny values, is refused or computes nothing.
//
// Without -adversarial.long only what is quick runs, over TCP.
//
// To add a command, write it into the table of cases_test.go as Extended JSON. -adversarial.only
// picks interrupted commands by name.
package adversarial
