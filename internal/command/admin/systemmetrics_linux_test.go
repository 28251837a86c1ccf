package admin

import (
	"testing"
	"testing/fstest"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestSystemMetrics checks the statistics of a machine with one disk, a partition and a loop
// device.
func TestSystemMetrics(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{
		"proc/stat":                {Data: []byte("cpu  10 2 3 4 5 6 7 8 9 1 99\ncpu0 1 1 1\nctxt 77\nintr 5 5 5\nbtime 1700000000\n")},
		"proc/meminfo":             {Data: []byte("MemTotal:  2048 kB\nActive(anon):  12 kB\nHugePages_Total: 0\n")},
		"proc/vmstat":              {Data: []byte("pgfault 123\nother 4\n")},
		"proc/diskstats":           {Data: []byte(" 7 0 loop0 1 1 1 1 1 1 1 1 1 1 1\n 8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13\n 8 1 sda1 1 2 3 4 5 6 7 8 9 10 11\n 8 2 sdb 1 2\n")},
		"sys/block/sda/device/x":   {},
		"sys/block/sdb/device/x":   {},
		"sys/block/loop0/size":     {},
		"sys/block/sda/sda1/start": {},
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	appendSystemMetrics(b, root)
	b.End()
	doc := bsonx.Doc(b.Bytes())
	for path, want := range map[[3]string]int64{
		{"cpu", "user_ms"}: 100, {"cpu", "guest_nice_ms"}: 10, {"cpu", "ctxt"}: 77, {"cpu", "btime"}: 1700000000,
		{"memory", "MemTotal_kb"}: 2048, {"memory", "Active(anon)_kb"}: 12, {"vmstat", "pgfault"}: 123,
		{"disks", "sda", "reads"}: 1, {"disks", "sda", "write_sectors"}: 7, {"disks", "sda", "io_queued_ms"}: 11,
	} {
		names := path[:]
		if names[2] == "" {
			names = names[:2]
		}
		if got, ok := doc.LookupPath(names...).AsInt64(); !ok || got != want {
			t.Errorf("%v is %d, want %d", names, got, want)
		}
	}
	for part, want := range map[string]int{"cpu": 13, "memory": 2, "disks": 1, "vmstat": 1} {
		if got := doc.Lookup(part).Doc().Len(); got != want {
			t.Errorf("%s has %d fields, want %d: %s", part, got, want, bsonx.FormatShell(doc.Lookup(part)))
		}
	}
}

// TestHostFacts checks the facts that readHost finds in files. Facts without a file are empty.
func TestHostFacts(t *testing.T) {
	t.Parallel()
	got := hostOf(fstest.MapFS{
		"etc/os-release":                     {Data: []byte("PRETTY_NAME=\"Some Linux 9\"\nNAME=\"Some Linux\"\nVERSION_ID=9\n")},
		"proc/sys/kernel/osrelease":          {Data: []byte("6.1.0\n")},
		"sys/devices/system/node/node0/cpu0": {},
		"sys/devices/system/node/node1/cpu1": {},
		"sys/devices/system/node/online":     {},
	})
	if want := (hostFacts{name: "Some Linux", version: "9", kernel: "6.1.0", nodes: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := hostOf(fstest.MapFS{}); got != (hostFacts{}) {
		t.Errorf("of an empty machine: %+v", got)
	}
}
