package keyspace

// Space describes the keys with one first byte.
type Space struct {
	First byte
	// Name is the name of the constant for First.
	Name string
	// Rest describes the part after the first byte, as docs/keys.md draws it.
	Rest string
	// Length is the length of a key in bytes, or 0 if it varies.
	Length int
	// Writers are the folders of the packages that write such keys.
	Writers []string
}

// Spaces lists all spaces in the order of their keys. docs/keys.md shows the same list.
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
