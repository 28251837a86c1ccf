package read

import "sync"

// Budgets holds the memory limits of pipeline stages. It is safe for concurrent use.
type Budgets struct {
	mu  sync.Mutex
	set map[string]int // by stage; the map is replaced and never changed
}

// get returns the limits that were set.
func (b *Budgets) get() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set
}

// Put sets the memory limit of a stage, in bytes.
func (b *Budgets) Put(stage string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := map[string]int{stage: int(n)}
	for name, have := range b.set {
		if name != stage {
			next[name] = have
		}
	}
	b.set = next
}
