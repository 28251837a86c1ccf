package keyspace

// Space is all keys with one first byte.
type Space struct {
	First byte
	// Name is the constant of First.
	Name string
	// Rest is what follows the first byte, as docs/keys.md draws it.
	Rest string
	// Length is how many bytes a key has, 0 where that differs.
	Length int
	// Writers are the folders of the packages that make such keys.
	Writers []string
}

// Spaces are all spaces, in the order of their keys. docs/keys.md shows them, and what is stored.
var Spaces = []Space{
	{Catalog, "Catalog", "'c', 'g' or 'n'; see below", 0, []string{"internal/catalog"}},
	{
		Counters, "Counters", "collection id (4)", PrefixLen,
		[]string{"internal/changelog", "internal/schema", "internal/table"},
	},
	{Multikey, "Multikey", "index id (4), 0x01 and path, or 0xFF, or nothing", 0, []string{"internal/table"}},
	{
		Retryable, "Retryable", "session (16), digest of the user (32), statement (4)", 53,
		[]string{"internal/retryable"},
	},
	{Records, "Records", "collection id (4), record id", 0, []string{"internal/schema", "internal/table"}},
	{Oplog, "Oplog", "collection id (4), keystring(ts)", 14, []string{"internal/changelog", "internal/table"}},
	{Entries, "Entries", "index id (4), keystring(fields), record id", 0, []string{"internal/table"}},
}
