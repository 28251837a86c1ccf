// Package npm installs the npm packages that the tests need into the user's cache folder.
package npm

import (
	"context"
	"crypto/sha256"
	_ "embed" // for package.json
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const installTimeout = 6 * time.Minute

//go:embed package.json
var list []byte

// Packages installs the packages of package.json, and returns the folder that contains
// node_modules. It skips the test if npm is not installed.
func Packages(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	// Each version of package.json has its own folder. npm installs into another folder, which is
	// renamed when it is complete, because the tests of several packages may install at the same
	// time.
	dir := filepath.Join(cache, "sheaf-conformance", fmt.Sprintf("%x", sha256.Sum256(list))[:16])
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir
	}
	if err := install(t, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func install(t *testing.T, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "install-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := os.WriteFile(filepath.Join(fresh, "package.json"), list, 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund")
	cmd.Dir = fresh
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, exists := os.Stat(filepath.Join(dir, "node_modules")); exists != nil {
			return err
		}
	}
	return nil
}
