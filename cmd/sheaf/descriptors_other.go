//go:build !unix

package main

// fileLimit returns how many files the process may open, 0 where that is not known.
func fileLimit() int { return 0 }
