package read

import "sync"

// Budgets are the limits on what the stages of pipelines keep in memory. It is safe for concurrent
// use.
type Budgets struct {
	mu  sync.Mutex
	set map[string]int // by stage; replaced, never changed
}

// get returns the budgets that were set.
func (b *Budgets) get() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set
}

// Put sets the budget of a stage, in bytes.
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
