// Package interrupttest counts how often code looks at its operation.
package interrupttest
