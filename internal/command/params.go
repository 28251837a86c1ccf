package command

// defaultTransactionSize is how many bytes a transaction may change where nothing else is said:
// they are kept in memory until it ends.
const defaultTransactionSize = 256 << 20
