package sheaf

// DurableCommits returns how many commits waited for the disk.
func DurableCommits(db *DB) int64 { return db.engine.Stats().CommitsDurable }
