package plan

// scan returns a scan of the whole index, to be restricted.
func (x *indexInfo) scan() *indexScan {
	scan := &indexScan{index: x, dedup: x.isMultikey()}
	scan.bounds = scan.room[:0]
	for range x.fields {
		scan.bounds = append(scan.bounds, allValues)
	}
	return scan
}
