package storage

// Usage is the space that a range of keys takes, in bytes.
type Usage struct {
	// Tables is the range's part of the files of sorted, compressed keys.
	Tables int64
	// Unflushed is what the range has in memory only. The log has it too, until a flush writes it
	// to tables.
	Unflushed int64
}

// Total returns the space in tables and in memory.
func (u Usage) Total() int64 { return u.Tables + u.Unflushed }

// Plus returns the sum of two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{Tables: u.Tables + v.Tables, Unflushed: u.Unflushed + v.Unflushed}
}

// Contents counts what a range holds, with the versions and deletions that no reader sees any more.
type Contents struct {
	Usage Usage
	// Entries are all versions of keys in tables. Deletions are those of them that delete.
	Entries, Deletions int64
	// ValueBytes is the length of all values before compression, in tables and in memory.
	ValueBytes int64
}

// Disk is what an engine takes of a disk, in bytes. Total is the sum of Tables, Log, Free and
// Other.
type Disk struct {
	Total  int64
	Tables int64
	// Log is the part of the log that the unflushed keys need.
	Log int64
	// Free is space that the engine keeps: tables that are replaced, and logs allocated ahead.
	Free  int64
	Other int64
	// FileSystem is the size of the file system, FileSystemUsed what is in use of it; zero where
	// that is unknown.
	FileSystem, FileSystemUsed int64
}
