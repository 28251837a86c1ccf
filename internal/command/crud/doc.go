// Package crud implements the commands that read and write documents, such as find, aggregate,
// insert and update, and the command explain. Each command has a file with its name.
//
// The packages below execute the reads and writes: internal/plan, internal/pipeline,
// internal/write.
package crud
