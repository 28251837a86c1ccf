package driver2

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	driverModule = "go.mongodb.org/mongo-driver/v2"
	// driverVersion is the driver version whose suites are run.
	driverVersion = "v2.10.0"
)

// records is a Go file that is added to the tests of the package integration. It answers their DNS
// lookups.
//
//go:embed testdata/records_test.go
var records []byte

const recordsFile = "internal/integration/sheaf_records_test.go"

// change is an edit of a file in the copy of the driver. The changes make the tests independent of
// the machine.
type change struct{ file, old, new string }

func changes() []change {
	return []change{
		// In a container the driver adds a field to its handshake, which its tests do not expect.
		{
			"internal/handshake/operation/hello.go", `const dockerEnvPath = "/.dockerenv"`,
			`const dockerEnvPath = "/no/container"`,
		},
		// The test builds a long string. This takes seconds, and longer on a busy machine.
		{
			"internal/integration/clam_prose_test.go", "const deadline = 10 * time.Second",
			"const deadline = 5 * time.Minute",
		},
	}
}

// copyDriver copies the driver to a folder, adds the DNS records, and makes the changes.
func copyDriver(dir string) error {
	from, err := download(driverVersion)
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return fmt.Errorf("copy the driver: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, recordsFile), records, 0o600); err != nil {
		return err
	}
	for _, c := range changes() {
		file := filepath.Join(dir, c.file)
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if bytes.Count(source, []byte(c.old)) != 1 {
			return fmt.Errorf("%s has no %s", c.file, c.old)
		}
		if err := os.WriteFile(file, bytes.Replace(source, []byte(c.old), []byte(c.new), 1), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// environment returns the environment of this process without the variable by which the driver
// recognises a container.
func environment() []string {
	return slices.DeleteFunc(os.Environ(),
		func(v string) bool { return strings.HasPrefix(v, "KUBERNETES_SERVICE_HOST=") })
}

// download returns the folder of a version of the driver.
func download(version string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", driverModule+"@"+version).Output()
	if err != nil {
		return "", fmt.Errorf("download %s@%s: %w", driverModule, version, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", err
	}
	return module.Dir, nil
}
