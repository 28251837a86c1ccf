// Package unwind implements the stage $unwind, which yields one document per element of an array.
//
// Definition contains the parser, which returns a Stage. A stage that builds an array, such as
// $lookup, can be fused with the $unwind: it keeps the Stage and calls Indexed to add the index of
// an element.
//
// Invariants:
//
//  1. Elements come in array order, and documents in input order.
//  2. The parts of a document that are the same for all elements are encoded once.
//
// The package is independent of the optimiser, which sets Wanted to the fields that later stages
// read.
//
// To add an argument, read it in parse and add it to the explained form of the stage.
package unwind
