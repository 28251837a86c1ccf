package command

import "github.com/KimMachineGun/automemlimit/memlimit"

// totalMemory returns the memory in bytes that the process may use, 0 where it is not known.
func totalMemory() int64 {
	if n, err := memlimit.FromCgroup(); err == nil && n > 0 && n < 1<<60 {
		return int64(n)
	}
	n, err := memlimit.FromSystem()
	if err != nil {
		return 0
	}
	return int64(n)
}

// AvailableMemory returns the memory in bytes that the process may use: its control group's limit, else the machine's
// memory, else 0.
func AvailableMemory() int64 { return totalMemory() }
