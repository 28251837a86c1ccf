package relief

import "github.com/KimMachineGun/automemlimit/memlimit"

// TotalMemory returns the memory in bytes that the process may use: the limit of its control group
// or the machine's memory. It returns 0 if neither is known.
func TotalMemory() int64 {
	if n := GroupMemory(); n > 0 {
		return n
	}
	return MachineMemory()
}

// MachineMemory returns the machine's memory in bytes, or 0 if it is not known.
func MachineMemory() int64 {
	n, err := memlimit.FromSystem()
	if err != nil {
		return 0
	}
	return int64(n)
}

// GroupMemory returns the memory limit of the process's control group in bytes. It returns 0 if
// there is no limit, or if the limit is not less than the machine's memory.
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

// AvailableMemory returns the memory in bytes that the process may use, or 0 if it is not known. It
// is the same as TotalMemory.
func AvailableMemory() int64 { return TotalMemory() }
