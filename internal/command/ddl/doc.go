// Package ddl has the commands that create, change, list and drop collections and indexes. Each
// command is a file that is named for it; the checks of index specifications and collection options
// stand beside them.
package ddl
