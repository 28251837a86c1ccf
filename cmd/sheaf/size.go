package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// parseSize parses a number of bytes with an optional unit, such as "64MiB".
func parseSize(text string) (int64, error) {
	units := []struct {
		suffix string
		factor int64
	}{
		{"kib", 1 << 10},
		{"mib", 1 << 20},
		{"gib", 1 << 30},
		{"kb", 1000},
		{"mb", 1000_000},
		{"gb", 1000_000_000},
		{"k", 1 << 10},
		{"m", 1 << 20},
		{"g", 1 << 30},
		{"b", 1},
		{"", 1},
	}
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, u := range units {
		digits, ok := strings.CutSuffix(lower, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || math.IsNaN(n) || n <= 0 || n*float64(u.factor) > 1<<50 {
			break
		}
		return int64(n * float64(u.factor)), nil
	}
	return 0, errors.New("it must be a size such as 512MiB or 1GB")
}
