package plan

import (
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// scan returns a scan of the whole index, to be restricted.
func scan(x *indexinfo.Index) *indexScan {
	scan := &indexScan{index: x, dedup: x.IsMultikey()}
	scan.bounds = scan.room[:0]
	for range x.Fields {
		scan.bounds = append(scan.bounds, bounds.All)
	}
	return scan
}
