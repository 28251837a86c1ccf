package read

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// Budgets holds the memory limits of pipeline stages. It is safe for concurrent use.
type Budgets struct {
	mu  sync.Mutex
	set map[string]int // by source.Budget.Param; the map is replaced and never changed
}

// get returns the limits that were set.
func (b *Budgets) get() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set
}

// Put sets a memory limit, in bytes.
func (b *Budgets) Put(of source.Budget, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := map[string]int{of.Param: int(n)}
	for name, have := range b.set {
		if name != of.Param {
			next[name] = have
		}
	}
	b.set = next
}
