package driver2

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	driverModule = "go.mongodb.org/mongo-driver/v2"
	// driverVersion is the version whose suites are run.
	driverVersion = "v2.10.0"
	// specsVersion is the last version of the driver whose module has specification files.
	specsVersion = "v2.2.0"
)

// folder says where a folder of specification tests stands in the driver's old module.
type folder struct {
	spec string // in mongodb/specifications, below source
	old  string // below testdata
	// anyFormat takes files of every format; else only those of the unified format.
	anyFormat bool
}

// folders is what the driver's suites read.
func folders() []folder {
	return []folder{
		{spec: "unified-test-format/tests/valid-pass", old: "unified-test-format/valid-pass"},
		{spec: "unified-test-format/tests/valid-fail", old: "unified-test-format/valid-fail"},
		{spec: "transactions-convenient-api/tests/unified", old: "convenient-transactions"},
		{spec: "versioned-api/tests", old: "versioned-api"},
		{spec: "crud/tests/unified", old: "crud/unified"},
		{spec: "change-streams/tests/unified", old: "change-streams"},
		{spec: "load-balancers/tests", old: "load-balancers"},
		{spec: "collection-management/tests", old: "collection-management"},
		{spec: "command-logging-and-monitoring/tests/monitoring", old: "command-monitoring"},
		{spec: "command-logging-and-monitoring/tests/logging", old: "command-monitoring/logging"},
		{spec: "connection-monitoring-and-pooling/tests/logging", old: "connection-monitoring-and-pooling/logging"},
		{spec: "sessions/tests", old: "sessions"},
		{spec: "retryable-reads/tests/unified", old: "retryable-reads"},
		{spec: "retryable-writes/tests/unified", old: "retryable-writes/unified"},
		{spec: "client-side-encryption/tests/unified", old: "client-side-encryption/unified"},
		{spec: "client-side-operations-timeout/tests", old: "client-side-operations-timeout"},
		{spec: "gridfs/tests", old: "gridfs"},
		{spec: "server-selection/tests/logging", old: "server-selection/logging"},
		{spec: "server-discovery-and-monitoring/tests/unified", old: "server-discovery-and-monitoring/unified"},
		{spec: "run-command/tests/unified", old: "run-command"},
		{spec: "index-management/tests", old: "index-management"},
		{spec: "mongodb-handshake/tests/unified"},
		{spec: "client-backpressure/tests"},
		{spec: "transactions/tests/unified", old: "transactions/unified"},
		{spec: "causal-consistency/tests"},
		{spec: "read-write-concern/tests/operation", old: "read-write-concern/operation", anyFormat: true},
		{spec: "read-write-concern/tests/document", old: "read-write-concern/document", anyFormat: true},
		{spec: "read-write-concern/tests/connection-string", old: "read-write-concern/connection-string", anyFormat: true},
	}
}

// layOut makes a folder in which the driver's tests find the specification files, and returns the spec folders that have none.
func layOut(dir string) (missing []string, err error) {
	root := filepath.Join(dir, "testdata", "specifications")
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return nil, err
	}
	if given := os.Getenv("SHEAF_SPECIFICATIONS"); given != "" {
		return nil, os.Symlink(given, root)
	}
	old, err := download(specsVersion)
	if err != nil {
		return nil, err
	}
	for _, f := range folders() {
		to := filepath.Join(root, "source", f.spec)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return nil, err
		}
		n, err := link(f, filepath.Join(old, "testdata"), to)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			missing = append(missing, f.spec)
		}
	}
	return missing, nil
}

// link links the test files of a folder and returns how many there are.
func link(f folder, testdata, to string) (n int, err error) {
	if f.old == "" {
		return 0, nil
	}
	files, err := filepath.Glob(filepath.Join(testdata, f.old, "*.json"))
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		if !f.anyFormat && !bytes.Contains(content, []byte(`"schemaVersion"`)) {
			continue
		}
		if err := os.Symlink(file, filepath.Join(to, filepath.Base(file))); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
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
