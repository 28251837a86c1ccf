// Package granularity rounds the boundaries of $bucketAuto to preferred numbers: the Renard series,
// the E series, 1-2-5 and powers of two.
//
// New returns the Rounder of a granularity's name. Up gives a greater number of the series and Down
// a smaller one, never the number itself.
//
// Invariants:
//
//  1. Zero and infinity are not rounded.
//  2. A decimal stays a decimal; other numbers become doubles, as in MongoDB.
//
// To add a series, add its numbers to series.go.
package granularity
