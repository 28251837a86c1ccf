package tempfile

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// written returns a file with n random bytes, written in pieces.
func written(t *testing.T, n int) (*File, []byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	content := make([]byte, n)
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	f := &File{}
	t.Cleanup(f.Close)
	if err := f.Create(filepath.Join(t.TempDir(), "made")); err != nil {
		t.Fatal(err)
	}
	for rest := content; len(rest) > 0; {
		part := rest[:rng.IntN(min(len(rest), 2*block))+1]
		if _, err := f.Write(part); err != nil {
			t.Fatal(err)
		}
		rest = rest[len(part):]
	}
	return f, content
}

func TestReadsWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, block - 1, block, block + 1, 5*block + 17, 40*block + 17} {
		f, content := written(t, n)
		rng := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			at := rng.IntN(n)
			p := make([]byte, rng.IntN([]int{2, 12}[rng.IntN(2)]*block)+1)
			got, err := f.ReadAt(p, int64(at))
			want := content[at:min(at+len(p), n)]
			if !bytes.Equal(p[:got], want) || (err == nil) != (len(want) == len(p)) ||
				err != nil && !errors.Is(err, io.EOF) {
				t.Fatalf("%d bytes at %d of %d: %d bytes, %v", len(p), at, n, got, err)
			}
		}
		if n, err := f.ReadAt(make([]byte, 1), int64(n)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %d bytes, %v", n, err)
		}
	}
}

func TestDamageIsAnError(t *testing.T) {
	t.Parallel()
	const size = 3*block + 100
	damages := map[string]func(*os.File) error{
		"cut":          func(f *os.File) error { return f.Truncate(size - 1) },
		"cut at block": func(f *os.File) error { return f.Truncate(2 * block) },
		"emptied":      func(f *os.File) error { return f.Truncate(0) },
		"first byte":   func(f *os.File) error { return flip(f, 0) },
		"last byte":    func(f *os.File) error { return flip(f, size-1) },
		"first of the last block": func(f *os.File) error {
			return flip(f, 3*block)
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			f, _ := written(t, size)
			if err := damage(f.file); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(io.NewSectionReader(f, 0,
				size)); mongoerr.CodeOf(err) != mongoerr.DataCorruptionDetected {
				t.Errorf("got %v", err)
			}
		})
	}
}

func flip(f *os.File, at int64) error {
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= 1
	_, err := f.WriteAt(b[:], at)
	return err
}

func TestResetWritesOver(t *testing.T) {
	t.Parallel()
	f, _ := written(t, 3*block)
	f.Reset()
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestClear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Clear(filepath.Join(dir, "absent")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, prefix+"1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Clear(dir); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
