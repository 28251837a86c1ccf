package pipeline

// IsStage reports whether MongoDB has a stage of that name, be it supported or not.
func IsStage(name string) bool {
	_, ok := registry()[name]
	return ok
}
