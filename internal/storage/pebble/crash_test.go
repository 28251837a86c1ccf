package pebble

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/pebble/crashdisk"
	"github.com/sheafdb/sheaf/internal/torture"
)

const (
	crashDirEnv  = "SHEAF_TEST_CRASH_DIR"
	crashBaseEnv = "SHEAF_TEST_CRASH_BASE"
	crashWriters = 8
)

// TestCrashChild is the process that TestKill kills. It is not a test of its own.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDirEnv)
	if dir == "" {
		t.Skip("started by TestKill only")
	}
	base, err := strconv.Atoi(os.Getenv(crashBaseEnv))
	if err != nil {
		t.Fatal(err)
	}
	// The budget is small, so that memtables are flushed, and logs rotated and recycled.
	e, err := Open(dir, Options{MemoryBudget: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("open")
	var next atomic.Int64
	var wg sync.WaitGroup
	for range crashWriters {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				n := uint64(base) + uint64(next.Add(1))
				durability := storage.Buffered
				if n%50 == 0 {
					durability = storage.Durable
				}
				if err := insert(e, n, durability); err != nil {
					fmt.Println("error", err)
					return
				}
				if _, err := fmt.Println("ack", n); err != nil {
					return
				}
			}
		}()
	}
	wg.Wait()
}

// TestKill kills a process under load with SIGKILL, again and again on one directory. Every
// acknowledged commit must exist completely, and the counter must agree with the records.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := torture.Part(4)
	if testing.Short() {
		rounds = 1
	}
	dir := t.TempDir()
	acknowledged := map[uint64]bool{}
	for round := range rounds {
		killOne(t, dir, round, acknowledged)
		e, err := Open(dir, Options{})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		checkInserted(t, e, acknowledged)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(acknowledged) < 100 {
		t.Fatalf("only %d commits were acknowledged", len(acknowledged))
	}
}

// killOne starts a child, kills it, and adds the commits that it acknowledged.
func killOne(t *testing.T, dir string, round int, acknowledged map[uint64]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$", "-test.v")
	cmd.Env = append(os.Environ(), crashDirEnv+"="+dir, fmt.Sprintf("%s=%d", crashBaseEnv, (round+1)*100_000_000))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var timer *time.Timer
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "open":
			timer = time.AfterFunc(time.Duration(100+rand.IntN(500))*time.Millisecond,
				func() { _ = cmd.Process.Kill() })
		case strings.HasPrefix(line, "error"):
			t.Errorf("child: %s", line)
		case strings.HasPrefix(line, "ack "):
			n, err := strconv.ParseUint(line[4:], 10, 64)
			if err != nil {
				// The last line may be incomplete, because the child was killed.
				continue
			}
			acknowledged[n] = true
		}
	}
	_ = cmd.Wait()
	if timer == nil {
		t.Fatal("the child did not open the store")
	}
	timer.Stop()
}

// checkInserted checks that all acknowledged inserts exist, and that records, index entries and the
// counter agree.
func checkInserted(t *testing.T, e storage.Engine, acknowledged map[uint64]bool) {
	t.Helper()
	var buf [32]byte
	for n := range acknowledged {
		_, closer, err := e.Get(benchKey(buf[:0], n))
		if err != nil {
			t.Fatalf("commit %d was acknowledged and is lost: %v", n, err)
		}
		_ = closer.Close()
	}
	count := func(kind byte) (n int64) {
		s := e.NewSnapshot()
		defer s.Close()
		it, err := s.NewIter([]byte{0, 0, 0, 1, kind}, []byte{0, 0, 0, 1, kind + 1})
		if err != nil {
			t.Fatal(err)
		}
		for ok := it.First(); ok; ok = it.Next() {
			n++
		}
		if err := errors.Join(it.Err(), it.Close()); err != nil {
			t.Fatal(err)
		}
		return n
	}
	c, err := e.Counter([]byte("counter"))
	if err != nil {
		t.Fatal(err)
	}
	records, entries := count('r'), count('i')
	if records != entries || records != c.Count || c.Bytes != c.Count*int64(len(benchValue)) {
		t.Fatalf("%d records, %d index entries, counter %+v", records, entries, c)
	}
}

// TestPowerLoss takes copies of the disk as a loss of power would leave it. Every durable commit
// must exist. If a commit that was not durable exists, all commits before it must exist.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	for _, survive := range []int{0, 30, 70, 100} {
		t.Run(fmt.Sprintf("%dpercentOfUnsynced", survive), func(t *testing.T) {
			t.Parallel()
			disk := vfs.NewCrashableMem()
			e, err := Open("store", Options{FS: disk, MemoryBudget: 8 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			rng := rand.New(rand.NewPCG(1, uint64(survive)))
			durable, n := 0, 0
			for range torture.Part(25) {
				for range 1 + rng.IntN(300) {
					n++
					durability := storage.Buffered
					if rng.IntN(40) == 0 {
						durability = storage.Durable
					}
					commitNumber(t, e, n, durability)
					if durability == storage.Durable {
						durable = n
					}
				}
				clone := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: survive, RNG: rng})
				checkNumbers(t, clone, durable, n)
			}
			if err := e.Checkpoint(""); err != nil {
				t.Fatal(err)
			}
			checkNumbers(t, disk.CrashClone(vfs.CrashCloneCfg{}), n, n)
		})
	}
}

func numberKey(n int) []byte { return fmt.Appendf(nil, "n%08d", n) }

func commitNumber(t *testing.T, e storage.Engine, n int, durability storage.Durability) {
	t.Helper()
	txn := e.Begin()
	defer txn.Rollback()
	if err := errors.Join(
		txn.Put(numberKey(n), benchValue),
		txn.Add([]byte("counter"), storage.Counter{Count: 1}),
		txn.Commit(durability),
	); err != nil {
		t.Fatal(err)
	}
}

// checkNumbers opens a disk and checks that it has exactly the commits 1..m for some m from durable
// to last.
func checkNumbers(t *testing.T, disk vfs.FS, durable, last int) {
	t.Helper()
	e, err := Open("store", Options{FS: disk})
	if err != nil {
		t.Fatalf("open after the loss of power: %v", err)
	}
	defer e.Close()
	s := e.NewSnapshot()
	defer s.Close()
	it, err := s.NewIter([]byte("n"), []byte("o"))
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	m := 0
	for ok := it.First(); ok; ok = it.Next() {
		m++
		if string(it.Key()) != string(numberKey(m)) {
			t.Fatalf("commit %d is missing before %q", m, it.Key())
		}
	}
	if err := it.Err(); err != nil {
		t.Fatal(err)
	}
	if m < durable || m > last {
		t.Fatalf("%d commits are left; %d were durable, %d made", m, durable, last)
	}
	if c, err := e.Counter([]byte("counter")); err != nil || c.Count != int64(m) {
		t.Fatalf("counter %d of %d: %v", c.Count, m, err)
	}
}

// TestPowerLossConcurrent takes a copy of the disk while many goroutines commit durably, also after
// a large commit.
func TestPowerLossConcurrent(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	disk := crashdisk.New()
	e, err := Open("store", Options{FS: disk, MemoryBudget: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for n := range uint64(100) {
		if err := insert(e, n+1_000_000, storage.Buffered); err != nil {
			t.Fatal(err)
		}
	}
	txn := e.Begin()
	defer txn.Rollback()
	for n := range 5000 {
		key := fmt.Appendf(nil, "x%08d", n+1)
		if err := errors.Join(txn.Lock(t.Context(), key), txn.Put(key, benchValue)); err != nil {
			t.Fatal(err)
		}
	}
	if err := txn.Commit(storage.Durable); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	acknowledged := map[uint64]bool{}
	stop := make(chan struct{})
	var next atomic.Uint64
	var wg sync.WaitGroup
	for w := range crashWriters {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				n, durability := next.Add(1), storage.Durability(w%2)
				if err := insert(e, n, durability); err != nil {
					t.Errorf("insert: %v", err)
					return
				}
				if durability == storage.Durable {
					mu.Lock()
					acknowledged[n] = true
					mu.Unlock()
				}
			}
		}()
	}
	for round := range 4 {
		time.Sleep(50 * time.Millisecond)
		mu.Lock()
		want := make(map[uint64]bool, len(acknowledged))
		for n := range acknowledged {
			want[n] = true
		}
		mu.Unlock()
		clone := disk.CrashClone(vfs.CrashCloneCfg{
			UnsyncedDataPercent: 25 * round, RNG: rand.New(rand.NewPCG(7, uint64(round))),
		})
		again, err := Open("store", Options{FS: clone})
		if err != nil {
			t.Fatal(err)
		}
		checkInserted(t, again, want)
		for _, n := range []int{1, 2500, 5000} {
			_, closer, err := again.Get(fmt.Appendf(nil, "x%08d", n))
			if err != nil {
				t.Fatalf("pair %d of the large commit: %v", n, err)
			}
			_ = closer.Close()
		}
		_ = again.Close()
	}
	close(stop)
	wg.Wait()
}
