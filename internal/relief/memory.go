package relief

import "github.com/KimMachineGun/automemlimit/memlimit"

// TotalMemory returns the memory in bytes that the process may use, 0 where it is not known.
func TotalMemory() int64 {
	if n := GroupMemory(); n > 0 {
		return n
	}
	return MachineMemory()
}

// MachineMemory returns the machine's memory in bytes, 0 where it is not known.
func MachineMemory() int64 {
	n, err := memlimit.FromSystem()
	if err != nil {
		return 0
	}
	return int64(n)
}

// GroupMemory returns the limit of the process's control group in bytes, 0 where it has none below the machine's memory.
func GroupMemory() int64 {
	n, err := memlimit.FromCgroup()
	if err != nil || n == 0 || n >= 1<<60 {
		return 0
	}
	if machine, err := memlimit.FromSystem(); err == nil && n >= machine {
		return 0
	}
	return int64(n)
}

// AvailableMemory returns the memory in bytes that the process may use: its control group's limit, else the machine's
// memory, else 0.
func AvailableMemory() int64 { return TotalMemory() }
