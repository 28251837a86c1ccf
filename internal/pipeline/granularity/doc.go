// Package granularity rounds the boundaries of $bucketAuto to preferred numbers: the Renard series,
// the E series, 1-2-5 and powers of two.
//
// New returns the Rounder for the name of a granularity. Up returns the next greater number of the
// series, and Down the next smaller one, even if the argument itself is in the series.
//
// Invariants:
//
//  1. Zero and infinity are not rounded.
//  2. A decimal stays a decimal. Other numbers become doubles, as in MongoDB.
//
// To add a series, add its numbers to series.go.
package granularity
