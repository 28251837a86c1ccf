//go:build !linux

package main

import (
	"os/exec"
	"time"
)

// The figures that Linux reports in /proc are missing on other systems.

func endWithParent(*exec.Cmd) {}

func asUser(*exec.Cmd, uint32, uint32) {}

func cpuTime([]int) (time.Duration, bool) { return 0, false }

func selfTime() time.Duration { return 0 }

func residentBytes(int) (int64, bool) { return 0, false }

func privateBytes([]int) int64 { return 0 }

func resetPeak([]int) {}

func peakBytes([]int) int64 { return 0 }

func openFiles() int { return 0 }

func machine() map[string]string { return map[string]string{} }

func loadAverage() string { return "" }
