// Package commands is the table of all commands. It imports the packages that implement commands
// and joins their definitions.
//
// To add a command, write its file in internal/command/crud, ddl or admin, and add the function
// that returns its definition to table.go.
package commands
