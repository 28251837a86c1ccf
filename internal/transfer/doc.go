// Package transfer moves documents between files and a collection: what sheaf import and sheaf
// export do.
//
// Concepts:
//
//   - A Reader turns a file into documents: JSON lines, a JSON array or CSV. It knows the line on
//     which each begins.
//   - A Writer is its opposite.
//   - An Importer reads documents and sends them in batches; an Exporter reads a cursor and writes
//     documents.
//   - A Column is a field of a CSV file, "name.type(argument)" in its header line.
//
// Invariants:
//
//  1. A bad record costs that record only: it is reported with its line and the rest goes in. What
//     cannot be passed over, such as a JSON array that breaks off, ends the import with its line.
//  2. JSON is MongoDB Extended JSON v2, canonical or relaxed, so that an export in canonical form
//     loses nothing.
//  3. Memory is bounded by a batch, whatever the size of the file; a single record may take
//     maxRecord bytes.
//  4. Nothing of a file is passed over, and no value is changed, without an error. An export stops
//     at a document that its format would change. A CSV cell of type auto is a number only if the
//     number, printed again, has the cell's text.
//
// It knows files and the official driver, nothing of the server: it works on any MongoDB.
//
// To add a format, write a Reader and a Writer and name them in formats.go; to add a type of CSV
// columns, add a line to the table in column.go.
package transfer
