package memory

// Keeper is a source of documents that keeps some of them in memory between two batches.
type Keeper interface {
	// Kept returns about how many bytes the source keeps, without the bytes that its own holding
	// counts. The cursor registry adds them to the budget. It is called after Save.
	Kept() int64
}

// KeptBy returns the bytes that a source keeps between two batches, or 0 if the source is not a
// Keeper.
func KeptBy(source any) int64 {
	if k, ok := source.(Keeper); ok {
		return k.Kept()
	}
	return 0
}
