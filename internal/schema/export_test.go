package schema

// OpeningSteps returns what Open does, each with whether it waits where the disk is full.
func OpeningSteps() map[string]bool {
	out := map[string]bool{}
	for _, step := range openingSteps(nil, nil) {
		out[step.what] = step.waits
	}
	return out
}
