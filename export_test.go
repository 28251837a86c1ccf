package sheaf

// DurableCommits returns how many commits of a database have waited for the disk.
func DurableCommits(db *DB) int64 { return db.engine.Stats().CommitsDurable }

// Fsyncs returns how many fsyncs a database has made.
func Fsyncs(db *DB) int64 { return db.engine.Stats().Fsyncs }

// ReliefLimit returns the memory at which a server in a container of group bytes ends requests.
func ReliefLimit(o *Options, group int64) int64 { return reliefLimit(o, group) }
