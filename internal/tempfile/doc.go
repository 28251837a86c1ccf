// Package tempfile has the files to which operations write what their memory has no room for.
//
// Invariants:
//
//  1. A read returns what was written, or an error. A file that was cut, changed or exchanged fails
//     with DataCorruptionDetected: the checksum of each block, and the size, are kept in memory.
//  2. A file has no name while it is open, where the system allows that, so that a killed process
//     leaves nothing behind. Elsewhere Clear removes what a killed process has left.
package tempfile
