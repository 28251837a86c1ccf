package storage

// Usage is the space of a range of keys, in bytes.
type Usage struct {
	// Tables is the size of the range in the files of sorted, compressed keys.
	Tables int64
	// Unflushed is the part of the range that is only in memory and in the log. A flush writes it
	// to tables.
	Unflushed int64
}

// Total returns the space in tables and in memory.
func (u Usage) Total() int64 { return u.Tables + u.Unflushed }

// Contents counts the contents of a range, including versions and deletions that no reader sees any
// more.
type Contents struct {
	Usage Usage
	// Entries counts all versions of keys in tables. Deletions counts the entries that delete a
	// key.
	Entries, Deletions int64
	// ValueBytes is the length of all values before compression, in tables and in memory.
	ValueBytes int64
}

// Disk is the disk space of an engine, in bytes. Total is the sum of Tables, Log, Free and Other.
type Disk struct {
	Total  int64
	Tables int64
	// Log is the size of the log for keys that are not flushed.
	Log int64
	// Free is space that the engine keeps for later: replaced tables, and logs allocated ahead.
	Free  int64
	Other int64
	// FileSystem is the size of the file system, and FileSystemUsed the used part of it. Both are
	// zero if unknown.
	FileSystem, FileSystemUsed int64
}
