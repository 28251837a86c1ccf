// Package commands is the table of all commands. It joins the framework (internal/command) with
// the packages that have the commands, and imports all of them.
//
// To add a command, write its file in internal/command/crud, ddl or admin, and add the function
// with its definition to table.go.
package commands
