package torture

import "syscall"

// largePages asks for pages of 2 MiB where b lies, now and when they were given back and are
// touched again. Where the system has none, only the times are longer.
func largePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
