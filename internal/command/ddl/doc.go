// Package ddl implements the commands that create, change, list and drop collections and indexes.
// Each command has a file with its name. The checks of index specifications and collection options
// have their own files.
package ddl
