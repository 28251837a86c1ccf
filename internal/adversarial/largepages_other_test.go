//go:build !linux

package adversarial

func largePages([]byte) {}
