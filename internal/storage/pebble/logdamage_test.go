package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/torture"
)

// killed returns a disk with everything that was written, as the death of the process leaves it.
func killed(_ *testing.T, _ *Engine, disk *vfs.MemFS) *vfs.MemFS {
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// powerless returns a disk with the synced data, as a loss of power leaves it. The file of sync
// points is the one from the last opening.
func powerless(_ *testing.T, _ *Engine, disk *vfs.MemFS) *vfs.MemFS {
	return disk.CrashClone(vfs.CrashCloneCfg{})
}

func stopped(t *testing.T, e *Engine, disk *vfs.MemFS) *vfs.MemFS {
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return killed(t, e, disk)
}

// logStore returns a disk with a store of durable commits, followed by commits that were not
// synced.
func logStore(t *testing.T, durable, buffered int, how func(*testing.T, *Engine, *vfs.MemFS) *vfs.MemFS) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	opened, err := Open("store", Options{FS: disk, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	e := opened.(*Engine)
	for n := range durable {
		commitNumber(t, e, n+1, storage.Durable)
	}
	for n := range buffered {
		commitNumber(t, e, durable+n+1, storage.Buffered)
	}
	left := how(t, e, disk)
	_ = e.Close()
	return left
}

// newestLog returns the path of the newest log.
func newestLog(t *testing.T, disk vfs.FS) string {
	t.Helper()
	names := logNames(t, disk)
	return "store/" + names[len(names)-1]
}

func logNames(t *testing.T, disk vfs.FS) (logs []string) {
	t.Helper()
	names, err := disk.List("store")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, ok := logNumber(name); ok {
			logs = append(logs, name)
		}
	}
	slices.Sort(logs)
	return logs
}

// openNumbers opens a disk and returns the number of its commits.
func openNumbers(t *testing.T, disk vfs.FS, options Options) (int, error) {
	t.Helper()
	options.FS, options.Reserve = disk, -1
	opened, err := Open("store", options)
	if err != nil {
		return 0, err
	}
	defer opened.Close()
	c, err := opened.Counter([]byte("counter"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range int(c.Count) {
		_, closer, err := opened.Get(numberKey(n + 1))
		if err != nil {
			t.Fatalf("commit %d of %d: %v", n+1, c.Count, err)
		}
		_ = closer.Close()
	}
	return int(c.Count), nil
}

// wantRefused checks that the store on a disk is refused, and that the error names a file.
func wantRefused(t *testing.T, disk vfs.FS, path string) {
	t.Helper()
	n, err := openNumbers(t, disk, Options{})
	if !storage.IsCorruption(err) || !strings.Contains(err.Error(), filepath.Base(path)) {
		t.Errorf("got %d commits and the error %v, want one that names %s", n, err, path)
	}
}

// logDamage is a damage to the bytes of a log. The first durable bytes were synced.
type logDamage struct {
	name   string
	change func(log []byte, durable int) []byte
	// cut means that the damage is after the synced part.
	cut bool
}

// flip flips a bit of the byte at a place.
func flip(at func(log []byte, durable int) int) func([]byte, int) []byte {
	return func(log []byte, durable int) []byte {
		log[at(log, durable)] ^= 1
		return log
	}
}

// logDamages lists the classes of places and damages of a log.
var logDamages = []logDamage{
	{name: "checksum", change: flip(func([]byte, int) int { return 0 })},
	{name: "length", change: flip(func([]byte, int) int { return 4 })},
	{name: "type", change: flip(func([]byte, int) int { return 6 })},
	// A number that is one greater marks a closed log.
	{name: "number", change: func(log []byte, _ int) []byte { log[7]++; return log }},
	{name: "sequence", change: flip(func([]byte, int) int { return logHeader })},
	{name: "payload", change: flip(func(log []byte, _ int) int { return len(log) / 10 })},
	{name: "lastOfBlock", change: flip(func([]byte, int) int { return logBlock - 20 })},
	{name: "firstOfBlock", change: flip(func([]byte, int) int { return logBlock + 1 })},
	{name: "lastSynced", change: flip(func(_ []byte, durable int) int { return durable - 1 })},
	{name: "zeros", change: func(log []byte, _ int) []byte { clear(log[4096:8192]); return log }},
	{name: "cut", change: func(log []byte, _ int) []byte { return log[:len(log)/2] }},
	{name: "cutBetweenRecords", change: func(log []byte, _ int) []byte {
		end, _ := scanLog(bytes.NewReader(log[:len(log)/2]), uint32(log[7]), map[uint64]int64{})
		return log[:end.record]
	}},
	{name: "empty", change: func([]byte, int) []byte { return nil }},
	{name: "firstUnsynced", cut: true, change: flip(func(_ []byte, durable int) int { return durable + 1 })},
	{name: "lastUnsynced", cut: true, change: flip(func(log []byte, _ int) int { return len(log) - 1 })},
	{name: "unsyncedLost", cut: true, change: func(log []byte, durable int) []byte { return log[:durable] }},
	{
		name: "unsyncedZeros", cut: true,
		change: func(log []byte, durable int) []byte { clear(log[durable:]); return log },
	},
	{name: "garbage", cut: true, change: func(log []byte, _ int) []byte { return append(log, benchValue...) }},
}

// TestLogDamage damages the newest log of a store that was killed. If the synced part is damaged,
// the store must be refused, and salvage must open it up to the damage. If only later bytes are
// damaged, the log must be cut.
func TestLogDamage(t *testing.T) {
	t.Parallel()
	const durable, buffered = 40, 30
	disk := logStore(t, durable, buffered, killed)
	path := newestLog(t, disk)
	whole := readFile(t, disk, path)
	points, err := readSyncPoints(disk, "store")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(points, func(p syncPoint) bool { return p.name == disk.PathBase(path) })
	if at < 0 || points[at].offset <= logBlock || points[at].offset >= int64(len(whole)) {
		t.Fatalf("the sync points are %v, the log has %d bytes", points, len(whole))
	}
	synced := int(points[at].offset)
	for _, d := range logDamages {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			damaged := d.change(slices.Clone(whole), synced)
			clone := func() *vfs.MemFS {
				c := killed(t, nil, disk)
				writeFile(t, c, path, damaged)
				return c
			}
			if d.cut {
				if n, err := openNumbers(t, clone(), Options{}); err != nil || n < durable {
					t.Fatalf("%d commits are left: %v", n, err)
				}
				return
			}
			wantRefused(t, clone(), path)
			c := clone()
			wantRefused(t, c, path)
			salvage(t, c, durable+buffered)
		})
	}
}

// salvage opens a damaged disk and checks the messages.
func salvage(t *testing.T, disk *vfs.MemFS, commits int) {
	t.Helper()
	var log bytes.Buffer
	n, err := openNumbers(t, disk, Options{Salvage: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil || n >= commits {
		t.Fatalf("salvage opens with %d of %d commits: %v", n, commits, err)
	}
	if !strings.Contains(log.String(), "salvage") || !strings.Contains(log.String(), "lostBytes") {
		t.Errorf("the log says\n%s", &log)
	}
	again, err := openNumbers(t, disk, Options{})
	if err != nil || again != n {
		t.Fatalf("after the salvage there are %d of %d commits: %v", again, n, err)
	}
}

// TestEveryByteOfALog flips each byte. The scan must end before it.
func TestEveryByteOfALog(t *testing.T) {
	t.Parallel()
	disk := logStore(t, 35, 0, killed)
	path := newestLog(t, disk)
	log := readFile(t, disk, path)
	number := uint32(log[7])
	whole, err := scanLog(bytes.NewReader(log), number, map[uint64]int64{})
	if err != nil || whole.readable != int64(len(log)) || whole.record != whole.readable || whole.closed {
		t.Fatalf("%+v of %d bytes: %v", whole, len(log), err)
	}
	for at := 0; at < len(log); at += torture.Share() * (1 + at%7) {
		log[at] ^= 1 << (at % 8)
		end, err := scanLog(bytes.NewReader(log), number, map[uint64]int64{})
		log[at] ^= 1 << (at % 8)
		if padding := at/logBlock != (at+logHeader)/logBlock; err != nil || end.readable > int64(at) && !padding {
			t.Fatalf("byte %d is damaged, %+v is readable: %v", at, end, err)
		}
	}
}

// TestMissingLog removes the newest log.
func TestMissingLog(t *testing.T) {
	t.Parallel()
	disk := logStore(t, 20, 5, killed)
	path := newestLog(t, disk)
	if err := disk.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, disk, path)
	wantRefused(t, disk, path)
	if n, err := openNumbers(t, disk, Options{Salvage: true}); err != nil || n != 0 {
		t.Fatalf("salvage opens with %d commits: %v", n, err)
	}
	if _, err := openNumbers(t, disk, Options{}); err != nil {
		t.Fatal(err)
	}
}

// TestLostMarkersOfAYoungStore removes each marker of a store that was killed before its first
// table was written. The marker must be restored.
func TestLostMarkersOfAYoungStore(t *testing.T) {
	t.Parallel()
	disk := logStore(t, 20, 5, killed)
	names, err := disk.List("store")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		if !strings.HasPrefix(name, "marker.") {
			continue
		}
		found++
		c := killed(t, nil, disk)
		if err := c.Remove("store/" + name); err != nil {
			t.Fatal(err)
		}
		if n, err := openNumbers(t, c, Options{}); err != nil || n != 25 {
			t.Errorf("without %s: %d commits: %v", name, n, err)
		}
	}
	if found < 2 {
		t.Errorf("%d markers in %v", found, names)
	}
}

// TestStoppedStoreNeedsNoLog damages the log of a store that was closed. All data are in tables.
func TestStoppedStoreNeedsNoLog(t *testing.T) {
	t.Parallel()
	const durable, buffered = 40, 30
	disk := logStore(t, durable, buffered, stopped)
	damages := append(slices.Clone(logDamages), logDamage{name: "missing"})
	for _, d := range damages {
		c := killed(t, nil, disk)
		path := newestLog(t, c)
		switch content := readFile(t, c, path); {
		case len(content) > 100:
			t.Fatalf("%d bytes are left in %s", len(content), path)
		case d.change == nil:
			if err := c.Remove(path); err != nil {
				t.Fatal(err)
			}
		default:
			for i := range content {
				content[i] ^= 0x10
			}
			writeFile(t, c, path, content)
		}
		if n, err := openNumbers(t, c, Options{}); err != nil || n != durable+buffered {
			t.Errorf("%s: %d commits: %v", d.name, n, err)
		}
	}
}

// TestUnsyncedCommitsAdvanceNoPoint checks that sync points cover only synced bytes.
func TestUnsyncedCommitsAdvanceNoPoint(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	opened, err := Open("store", Options{FS: disk, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	point := func() int64 {
		points, err := readSyncPoints(disk, "store")
		if err != nil {
			t.Fatal(err)
		}
		name := disk.PathBase(newestLog(t, disk))
		for _, p := range points {
			if p.name == name {
				return p.offset
			}
		}
		return 0
	}
	written := func() int64 { return int64(len(readFile(t, disk, newestLog(t, disk)))) }
	if point() != 0 {
		t.Fatalf("%d bytes of a new log are synced", point())
	}
	for n := range 5 {
		commitNumber(t, opened, 2*n, storage.Buffered)
		if n == 0 && point() != 0 {
			t.Fatal("a commit without sync moved the point")
		}
		before := point()
		commitNumber(t, opened, 2*n+1, storage.Durable)
		if p := point(); p != written() || p <= before {
			t.Fatalf("%d bytes are synced, %d were written", p, written())
		}
	}
	before := point()
	for n := range 50 {
		commitNumber(t, opened, 100+n, storage.Buffered)
	}
	if point() != before {
		t.Fatal("commits without sync moved the point")
	}
}

// noTables prevents that tables are written, so that logs accumulate.
type noTables struct{ off bool }

func (n *noTables) MaybeError(op errorfs.Op) error {
	if !n.off && op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
		return errors.New("no tables here")
	}
	return nil
}

func (n *noTables) String() string { return "noTables" }

// TestSeveralLogs damages each of several logs that the store needs.
func TestSeveralLogs(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	opened, err := Open("store", Options{FS: errorfs.Wrap(disk, &noTables{}), Reserve: -1, MemoryBudget: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	n := 0
	for ; len(logNames(t, disk)) < 3; n++ {
		commitNumber(t, opened, n+1, storage.Durable)
	}
	left := killed(t, nil, disk)
	lost := killed(t, nil, disk)
	if m, err := openNumbers(t, lost, Options{}); err != nil || m != n {
		t.Fatalf("%d of %d commits: %v", m, n, err)
	}
	for i, name := range logNames(t, left) {
		for _, damage := range []string{"missing", "flipped", "cut", "swapped"} {
			if i == 2 && damage == "cut" {
				continue
			}
			c := killed(t, nil, left)
			path := "store/" + name
			content := readFile(t, c, path)
			switch damage {
			case "missing":
				if err := c.Remove(path); err != nil {
					t.Fatal(err)
				}
			case "flipped":
				content[len(content)/2] ^= 1
				writeFile(t, c, path, content)
			case "cut":
				writeFile(t, c, path, content[:len(content)/2])
			default:
				writeFile(t, c, path, readFile(t, c, "store/"+logNames(t, c)[(i+1)%3]))
			}
			wantRefused(t, c, path)
			m, err := openNumbers(t, c, Options{Salvage: true})
			if err != nil || m >= n || i > 0 && m == 0 {
				t.Fatalf("%s %s: salvage gives %d of %d commits: %v", damage, name, m, n, err)
			}
		}
	}
}

// TestSyncPointsDamage damages the file of sync points itself.
func TestSyncPointsDamage(t *testing.T) {
	t.Parallel()
	const path = "store/" + syncPointsFile
	disk := logStore(t, 20, 0, killed)
	for _, c := range []struct {
		name    string
		change  func(content []byte) []byte
		refused bool
	}{
		{"missing", nil, true},
		{"empty", func([]byte) []byte { return nil }, true},
		{"first", func(p []byte) []byte { p[8] ^= 1; return p }, true},
		{"second", func(p []byte) []byte { p[syncPage+8] ^= 1; return p }, false},
		{"third", func(p []byte) []byte { p[2*syncPage+8] ^= 1; return p }, false},
		{"cut", func(p []byte) []byte { return p[:syncPage] }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := killed(t, nil, disk)
			if c.change == nil {
				if err := d.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else {
				writeFile(t, d, path, c.change(readFile(t, d, path)))
			}
			if c.refused {
				wantRefused(t, d, path)
			} else if n, err := openNumbers(t, killed(t, nil, d), Options{}); err != nil || n != 20 {
				t.Fatalf("%d commits: %v", n, err)
			}
			if n, err := openNumbers(t, d, Options{Salvage: true}); err != nil || n != 20 {
				t.Fatalf("salvage gives %d commits: %v", n, err)
			}
		})
	}
}

// TestFirstFormat opens a store of the format without sync points.
func TestFirstFormat(t *testing.T) {
	t.Parallel()
	disk := logStore(t, 20, 10, killed)
	for _, name := range []string{syncPointsFile, sealFile} {
		if err := disk.Remove("store/" + name); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, disk, "store/"+formatFile, []byte("sheaf 1\n"))
	for range 2 {
		if n, err := openNumbers(t, disk, Options{}); err != nil || n != 30 {
			t.Fatalf("%d commits: %v", n, err)
		}
		if line := readFile(t, disk, "store/"+formatFile); string(line) != fmt.Sprintf("sheaf %d\n", formatVersion) {
			t.Fatalf("the format is %q", line)
		}
	}
}

// TestPowerLossIsNoDamage cuts the power while the store is written. No synced commit may be lost.
func TestPowerLossIsNoDamage(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	disk := vfs.NewCrashableMem()
	for round := range max(torture.Part(30), 5) {
		opened, err := Open("store", Options{FS: disk, Reserve: -1, MemoryBudget: 8 << 20})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		c, err := opened.Counter([]byte("counter"))
		if err != nil {
			t.Fatal(err)
		}
		for n := range rng.IntN(200) {
			commitNumber(t, opened, int(c.Count)+n+1, storage.Durability(rng.IntN(8)/7))
		}
		lost := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(100), RNG: rng})
		_ = opened.Close()
		disk = lost
	}
	if n, err := openNumbers(t, disk, Options{}); err != nil || n == 0 {
		t.Fatalf("%d commits: %v", n, err)
	}
}

// TestDamageAfterPowerLoss damages data that were synced long before a loss of power. Only the last
// synced group may look like a torn end.
func TestDamageAfterPowerLoss(t *testing.T) {
	t.Parallel()
	disk := logStore(t, 40, 0, powerless)
	path := newestLog(t, disk)
	content := readFile(t, disk, path)
	content[len(content)/10] ^= 1
	writeFile(t, disk, path, content)
	wantRefused(t, disk, path)
}
