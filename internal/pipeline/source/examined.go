package source

import "slices"

// Examined counts the documents, keys and collection scans read in other collections.
type Examined struct {
	Docs, Keys, Scans int64
	// Indexes lists the names of the used indexes without duplicates.
	Indexes []string
}

// Add adds counts of documents, keys and collection scans, and the names of used indexes.
func (e *Examined) Add(docs, keys, scans int64, indexes []string) {
	e.Docs, e.Keys, e.Scans = e.Docs+docs, e.Keys+keys, e.Scans+scans
	for _, name := range indexes {
		if !slices.Contains(e.Indexes, name) {
			e.Indexes = append(e.Indexes, name)
		}
	}
}
