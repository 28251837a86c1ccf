//go:build !unix

package admin

// processResources returns false, because the values are only known on Unix.
func processResources() (resources, bool) { return resources{}, false }
