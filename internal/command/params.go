package command

// defaultTransactionSize is the default limit of the bytes that one transaction may change. The
// changes stay in memory until the transaction ends.
const defaultTransactionSize = 256 << 20
