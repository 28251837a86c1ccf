package schema

// OpeningSteps returns the steps of Open, each with whether it is postponed on a full disk.
func OpeningSteps() map[string]bool {
	out := map[string]bool{}
	for _, step := range openingSteps(nil, nil) {
		out[step.what] = step.waits
	}
	return out
}

// Pause waits as a resumed build does that lacks memory or disk space.
var Pause = pause

// PauseForSpace is the longest pause of a resumed build.
const PauseForSpace = pauseForSpace
