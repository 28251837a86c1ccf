package collation

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Cache caches collators by specification, because most operations use one of a few specifications.
// The zero value is ready to use. It is safe for concurrent use.
type Cache struct {
	mu        sync.Mutex
	collators map[string]*Collator
}

// maxCached is the number of collators at which the cache is cleared.
const maxCached = 64

// Parse is like the function Parse, but returns the same collator for the same specification.
func (c *Cache) Parse(spec bsonx.Doc) (*Collator, error) {
	c.mu.Lock()
	known, ok := c.collators[string(spec)]
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	made, err := Parse(spec)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.collators == nil || len(c.collators) >= maxCached {
		c.collators = map[string]*Collator{}
	}
	c.collators[string(spec)] = made
	return made, nil
}
