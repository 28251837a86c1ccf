//go:build !unix

package command

// processResources is not known here.
func processResources() (resources, bool) { return resources{}, false }
