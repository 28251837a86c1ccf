package collation

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Cache keeps the collators of specifications, as most operations use one of a few. The zero value
// is ready for use.
type Cache struct {
	mu        sync.Mutex
	collators map[string]*Collator
}

// maxCached is how many collators are kept before all are forgotten.
const maxCached = 64

// Parse is Parse, but for a specification that was parsed before it returns the same collator.
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
