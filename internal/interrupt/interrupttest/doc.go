// Package interrupttest counts how often code checks whether its operation has ended.
package interrupttest
