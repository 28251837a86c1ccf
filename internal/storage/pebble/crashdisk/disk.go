package crashdisk

import (
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk is a vfs.FS in memory. It is safe for concurrent use.
type Disk struct {
	*vfs.MemFS
	// copying is locked while a copy is taken. Operations that take the lock of the MemFS twice
	// hold it shared.
	copying sync.RWMutex
}

// New returns an empty disk.
func New() *Disk { return &Disk{MemFS: vfs.NewCrashableMem()} }

// CrashClone returns a copy of the disk with all synced data, and a share of the rest.
func (d *Disk) CrashClone(cfg vfs.CrashCloneCfg) *Disk {
	d.copying.Lock()
	defer d.copying.Unlock()
	return &Disk{MemFS: d.MemFS.CrashClone(cfg)}
}

// ReuseForWrite implements vfs.FS.
func (d *Disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.copying.RLock()
	defer d.copying.RUnlock()
	return d.MemFS.ReuseForWrite(oldname, newname, category)
}

// Link implements vfs.FS.
func (d *Disk) Link(oldname, newname string) error {
	d.copying.RLock()
	defer d.copying.RUnlock()
	return d.MemFS.Link(oldname, newname)
}

// Lock implements vfs.FS.
func (d *Disk) Lock(name string) (io.Closer, error) {
	d.copying.RLock()
	defer d.copying.RUnlock()
	return d.MemFS.Lock(name)
}

var _ vfs.FS = (*Disk)(nil)
