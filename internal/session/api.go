package session

import "fmt"

// API is what a command says of the stable API. The later commands of a cursor or a transaction
// must say the same as the first.
type API struct {
	Version string
	// Strict and Deprecation are the texts of apiStrict and apiDeprecationErrors; empty if not
	// given.
	Strict, Deprecation string
}

// String shows the parameters as MongoDB's messages do.
func (a API) String() string {
	if a.Version == "" {
		return "{}"
	}
	out := fmt.Sprintf("{ apiVersion: %q", a.Version)
	if a.Strict != "" {
		out += ", apiStrict: " + a.Strict
	}
	if a.Deprecation != "" {
		out += ", apiDeprecationErrors: " + a.Deprecation
	}
	return out + " }"
}
