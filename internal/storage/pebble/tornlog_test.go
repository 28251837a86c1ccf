package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/torture"
)

// diskPage is the unit that a disk is assumed to write completely or not at all.
const diskPage = 4096

// commitSized commits a number with a value of this length.
func commitSized(t *testing.T, e storage.Engine, n, length int, durability storage.Durability) {
	t.Helper()
	txn := e.Begin()
	defer txn.Rollback()
	if err := errors.Join(
		txn.Put(numberKey(n), bytes.Repeat([]byte{'v'}, length)),
		txn.Add([]byte("counter"), storage.Counter{Count: 1}),
		txn.Commit(durability),
	); err != nil {
		t.Fatal(err)
	}
}

// blockEndStore returns a disk with a store. Its log has durable commits that end rest bytes before
// the end of the first block, followed by more commits. It also returns the log, and the number and
// the end of the durable commits.
func blockEndStore(t *testing.T, rest int, more storage.Durability) (disk *vfs.MemFS, log []byte, commits, end int) {
	t.Helper()
	disk = vfs.NewCrashableMem()
	opened, err := Open("store", Options{FS: disk, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	path := newestLog(t, disk)
	size := func() int { return len(readFile(t, disk, path)) }
	n, last := 0, 0
	for size() < logBlock-5000 {
		n, last = n+1, size()
		commitSized(t, opened, n, 1000, storage.Durable)
	}
	overhead := size() - last - 1000
	n++
	commitSized(t, opened, n, logBlock-rest-size()-overhead, storage.Durable)
	end = size()
	if left := logBlock - end; left != rest && (rest >= logHeader || left != 0) {
		t.Fatalf("%d bytes of the block are left, want %d", left, rest)
	}
	for i := range 10 {
		commitSized(t, opened, n+1+i, 1000, more)
	}
	return killed(t, nil, disk), readFile(t, disk, path), n, end
}

// TestTornPageOfALog loses the page in which the synced part of a log ends, from that point on, and
// keeps the following pages. The synced part ends near the end of a block, where no chunk or only a
// small one fits.
func TestTornPageOfALog(t *testing.T) {
	t.Parallel()
	for rest := range 40 {
		t.Run(fmt.Sprint(rest), func(t *testing.T) {
			t.Parallel()
			disk, log, n, synced := blockEndStore(t, rest, storage.Buffered)
			clear(log[synced : (synced/diskPage+1)*diskPage])
			writeFile(t, disk, newestLog(t, disk), log)
			if got, err := openNumbers(t, disk, Options{}); err != nil || got != n {
				t.Fatalf("%d commits are left, %d were durable: %v", got, n, err)
			}
		})
	}
}

// TestEndOfABlockOfALog damages each byte at the end of a block in the synced part of a log. The
// scan must end where Pebble cannot read further, so that the store is refused. A few unused bytes
// are never read.
func TestEndOfABlockOfALog(t *testing.T) {
	t.Parallel()
	for rest := range 30 {
		if !torture.Sample(rest+1, 4) { // the sizes of headers, 7 and 11, are among the sampled ones
			continue
		}
		t.Run(fmt.Sprint(rest), func(t *testing.T) {
			t.Parallel()
			disk, log, n, _ := blockEndStore(t, rest, storage.Durable)
			path := newestLog(t, disk)
			for at := logBlock - max(rest, 1); at < logBlock; at++ {
				changed := bytes.Clone(log)
				changed[at] ^= 1
				end, err := scanLog(bytes.NewReader(changed), uint32(log[7]), map[uint64]int64{})
				if err != nil {
					t.Fatal(err)
				}
				records := record.NewReader(bytes.NewReader(changed[:end.record]), 2)
				for err == nil {
					var r io.Reader
					if r, err = records.Next(); err == nil {
						_, err = io.Copy(io.Discard, r)
					}
				}
				if !errors.Is(err, io.EOF) {
					t.Errorf("byte %d is damaged, the scan ends at %d, where Pebble says %v", at, end.record, err)
				}
				writeFile(t, disk, path, changed)
				unused := logBlock - rest
				if read := at < unused+legacyHeader && rest >= legacyHeader || rest >= logHeader; rest > 0 && !read {
					if got, err := openNumbers(t, killed(t, nil, disk), Options{}); err != nil || got != n+10 {
						t.Fatalf("byte %d: %d of %d commits: %v", at, got, n+10, err)
					}
					continue
				}
				wantRefused(t, killed(t, nil, disk), path)
			}
		})
	}
}

// TestLogWithoutRecords loses the first page of a log and keeps the following ones, so that no
// record can be read. The store is opened, written, and then killed, stopped, or has its power cut.
// When it is opened again, that log must not count as damaged.
func TestLogWithoutRecords(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*testing.T, *Engine, *vfs.MemFS) *vfs.MemFS{
		"killed": killed, "powerless": powerless, "stopped": stopped,
	} {
		for commits := range 3 {
			t.Run(fmt.Sprint(name, commits), func(t *testing.T) {
				t.Parallel()
				disk := logStore(t, 0, 20, killed)
				path := newestLog(t, disk)
				log := readFile(t, disk, path)
				clear(log[:diskPage])
				writeFile(t, disk, path, log)
				disk = killed(t, nil, disk)
				for round := range 3 {
					opened, err := Open("store", Options{FS: disk, Reserve: -1})
					if err != nil {
						t.Fatalf("opening %d: %v", round, err)
					}
					for n := range commits {
						commitNumber(t, opened, commits*round+n+1, storage.Durable)
					}
					disk = how(t, opened.(*Engine), disk)
					_ = opened.Close()
				}
				if n, err := openNumbers(t, disk, Options{}); err != nil || n != 3*commits {
					t.Fatalf("%d of %d commits: %v", n, 3*commits, err)
				}
			})
		}
	}
}

// powerCuts keeps the possible states of the disk after a loss of power before each operation.
// After a marker was created it also keeps states with more data, because the file that a marker
// names must exist.
type powerCuts struct {
	disk   *vfs.MemFS
	mu     sync.Mutex
	rng    *rand.Rand
	marked bool
	left   []*vfs.MemFS
}

func (c *powerCuts) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	percents := []int{0, 50, 100}
	if c.marked {
		percents = slices.Repeat([]int{50}, 30)
	}
	for _, percent := range percents {
		c.left = append(c.left, c.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: c.rng}))
	}
	c.marked = op.Kind == errorfs.OpCreate && strings.HasPrefix(filepath.Base(op.Path), "marker.")
	return nil
}

func (c *powerCuts) String() string { return "powerCuts" }

// TestPowerLossWhileOpening cuts the power a second time, while a store with a torn log is opened.
// The same commits must remain.
func TestPowerLossWhileOpening(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	for _, rest := range []int{11, 30} {
		for _, keep := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d/%t", rest, keep), func(t *testing.T) {
				t.Parallel()
				disk, log, n, synced := blockEndStore(t, rest, storage.Buffered)
				if !keep {
					// Without the file of sync points and the marks, nothing counts as synced.
					disk, n, synced = logStore(t, 0, 20, killed), 0, 0
					log = readFile(t, disk, newestLog(t, disk))
				}
				clear(log[synced : (synced/diskPage+1)*diskPage])
				writeFile(t, disk, newestLog(t, disk), log)
				disk = killed(t, nil, disk)
				cuts := &powerCuts{disk: disk, rng: rand.New(rand.NewPCG(5, uint64(rest)))}
				opened, err := Open("store", Options{FS: errorfs.Wrap(disk, cuts), Reserve: -1})
				if err != nil {
					t.Fatal(err)
				}
				cuts.mu.Lock()
				left := cuts.left
				cuts.mu.Unlock()
				_ = opened.Close()
				for i, disk := range left {
					if got, err := openNumbers(t, disk, Options{}); err != nil || got != n {
						t.Fatalf("power lost for the time %d of %d: %d of %d commits: %v", i+1, len(left), got, n, err)
					}
				}
			})
		}
	}
}
