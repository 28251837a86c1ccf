// Package transfer moves documents between files and a collection. It implements sheaf import and
// sheaf export.
//
// Concepts:
//
//   - A Reader turns a file into documents: JSON lines, a JSON array or CSV. It knows the line on
//     which each document begins.
//   - A Writer turns documents into a file.
//   - An Importer reads documents and sends them in batches. An Exporter reads a cursor and writes
//     documents.
//   - A column is a field of a CSV file, "name.type(argument)" in its header line.
//
// Invariants:
//
//  1. A bad record does not stop the import: it is reported with its line, and the other records
//     are imported. An error after which the file cannot be read further, such as a truncated JSON
//     array, ends the import and names the line.
//  2. JSON is MongoDB Extended JSON v2, canonical or relaxed. An export in canonical form loses
//     nothing.
//  3. Memory is limited by the batch, whatever the size of the file. A single record may take
//     maxRecord bytes.
//  4. No part of a file is skipped, and no value is changed, without an error. Only the options
//     RoundNumbers and Replace allow such changes. An export stops at a document that its format
//     cannot hold. A CSV cell of type auto is a number only if printing the number gives the cell's
//     text.
//
// The package knows files and the official driver, but not the server: it works with any MongoDB.
//
// To add a format, write a Reader and a Writer and name them in formats.go. To add a type of CSV
// columns, add a line to the table in column.go.
package transfer
