package session

import "fmt"

// API has a command's stable API parameters. Later commands of a cursor or a transaction must have
// the same parameters as the first command.
type API struct {
	Version string
	// Strict and Deprecation are the texts of apiStrict and apiDeprecationErrors, or empty.
	Strict, Deprecation string
}

// String returns the parameters in the form of MongoDB's messages.
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
