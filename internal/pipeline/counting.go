package pipeline

// OnlyCounts reports whether the results depend only on the number of input documents and not on
// their contents. That holds for $count and for a $group whose expressions are all constants, which
// drivers use to count. Such a pipeline can run over source.EmptyDocs.
func (p *Pipeline) OnlyCounts() bool {
	if len(p.steps) == 0 {
		return false
	}
	c, ok := p.steps[0].Stage.(counting)
	return ok && c.onlyCounts()
}

// counting is a stage whose results may depend only on the number of documents.
type counting interface{ onlyCounts() bool }
