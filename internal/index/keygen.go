package index

// KeyGen generates the keys of one pattern.
type KeyGen struct{}
