// Package unwind is the stage $unwind, which makes one document per element of an array.
//
// Definition has the parser, which returns the Stage. Stages that make an array can take it apart themselves, as $lookup does:
// they keep the Stage and ask it to add the index of an element.
//
// Invariants:
//
//  1. The elements come in their order, and other documents keep theirs.
//  2. What does not change between the elements of an array is put together once.
//
// The package knows no optimiser: who reads which fields is told to it in Wanted.
//
// To add an argument, read it in Parse and show it in the form of the stage in explain.
package unwind
