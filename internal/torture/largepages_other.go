//go:build !linux

package torture

func largePages([]byte) {}
