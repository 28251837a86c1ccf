package torture

import "syscall"

// largePages asks the system to use pages of 2 MiB for b, now and after the memory was returned and
// is touched again. If the system does not have such pages, tests only take longer.
func largePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
