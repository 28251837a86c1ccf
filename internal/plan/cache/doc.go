// Package cache remembers which plan won the trial of a query shape, and how much work that took.
//
// An entry becomes active when a second trial of the shape was about as cheap; only active entries
// spare a trial. Entries are found by collection and key: the shape of the query and the signatures
// of its candidate plans.
//
// Invariants:
//
//  1. The cache names a plan by its signature and holds no plan: a stale entry costs time, never a
//     result.
//  2. Entries, and what is kept of them for $planCacheStats, are bounded in number and bytes.
//
// It does not plan and does not know what keys are made of. To show more in $planCacheStats: a
// field of Debug.
package cache
