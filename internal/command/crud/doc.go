// Package crud has the commands that read and write documents: find, aggregate, insert, update and
// their relatives, with explain. Each command is a file that is named for it.
//
// How reads and writes run is in packages below: internal/plan, internal/pipeline, internal/write.
package crud
