// Package tempfile provides the files to which operations spill data that does not fit into their
// memory.
//
// Invariants:
//
//  1. A read returns the data that was written, or an error. If the file was cut, changed or
//     replaced, the read fails with DataCorruptionDetected. The size and a checksum of each block
//     are kept in memory.
//  2. If the system allows it, an open file has no name, so that a killed process leaves no files.
//     On other systems Clear removes the files of a killed process.
package tempfile
