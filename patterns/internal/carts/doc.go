// Package carts has the code that packages cart and seating share: carts are documents with a state
// and a deadline, in a collection of their own.
//
// # Invariants
//
//  1. The update that changes a cart's state decides. Stock and seats follow it.
//  2. A cart has a deadline while something is left to do. After the deadline any process may do
//     it.
//  3. An update names the state that it expects. It changes nothing if another process was faster.
//
// The package does not know what a cart contains, nor how stock and seats are reserved.
//
// To share more, move a function here that is the same in both packages, and pass what differs.
package carts
