package sheaf

import (
	"errors"
	"fmt"
)

// ErrOptions is returned by Open if an option is out of its bounds.
var ErrOptions = errors.New("sheaf: an option is out of its bounds")

// check returns an error for values with which no database can run. A value of zero is valid,
// because it means the default.
func (o *Options) check() error {
	for _, option := range []struct {
		name  string
		value int64
	}{
		{"MemoryBudget", o.MemoryBudget},
		{"ProcessMemory", o.ProcessMemory},
		{"MaxConnections", int64(o.MaxConnections)},
		{"MaxOpenFiles", int64(o.MaxOpenFiles)},
		{"OplogSize", o.OplogSize},
	} {
		if option.value < 0 {
			return fmt.Errorf("%w: %s is %d; it must not be negative", ErrOptions, option.name, option.value)
		}
	}
	if o.Sync < SyncDefault || o.Sync > SyncNever {
		return fmt.Errorf("%w: there is no SyncPolicy %d", ErrOptions, o.Sync)
	}
	return nil
}
