//go:build !unix

package admin

// processResources is not known here.
func processResources() (resources, bool) { return resources{}, false }
