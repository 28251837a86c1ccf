// Package cache remembers which plan won the trial of a query shape, and how many works that took.
//
// An entry becomes active when a later trial of the shape needed no more works than the entry
// allows; a dearer trial doubles the allowance. Only an active entry replaces a trial. The key of
// an entry consists of the collection, the shape of the query, and the signatures of its candidate
// plans.
//
// Invariants:
//
//  1. The cache stores the signature of a plan and not the plan: a stale entry costs time and never
//     changes a result.
//  2. Entries and their data for $planCacheStats are limited in number and in bytes.
//
// The package does not plan, and does not know the contents of keys. To show more in
// $planCacheStats, add a field to Debug.
package cache
