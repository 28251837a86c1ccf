package driver2

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// specsVersion is the last driver version whose module contains specification files.
const specsVersion = "v2.2.0"

// folder maps a folder of specification tests to its place in the driver's old module.
type folder struct {
	spec string // the folder in the repository mongodb/specifications, relative to its folder source
	old  string // the folder in the driver's old module, relative to testdata; empty if it is not there
	// anyFormat says that test files of every format are used. Otherwise only the unified format is
	// used.
	anyFormat bool
}

// folders lists the folders of test files that the driver's suites read.
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
		{
			spec: "read-write-concern/tests/connection-string",
			old:  "read-write-concern/connection-string", anyFormat: true,
		},
		{
			spec: "initial-dns-seedlist-discovery/tests/replica-set",
			old:  "initial-dns-seedlist-discovery/replica-set", anyFormat: true,
		},
	}
}

// layOut puts the specification files where the tests of the driver in dir look for them. It
// returns the specification folders that remain without files.
func layOut(dir string) (missing []string, err error) {
	root := filepath.Join(dir, "testdata", "specifications", "source")
	if given := os.Getenv("SHEAF_SPECIFICATIONS"); given != "" {
		return nil, linkTree(filepath.Join(given, "source"), root)
	}
	old, err := download(specsVersion)
	if err != nil {
		return nil, err
	}
	for _, f := range folders() {
		n, err := link(f, filepath.Join(old, "testdata"), root)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			missing = append(missing, f.spec)
		}
	}
	return missing, nil
}

// linkTree links every test file of a checkout into root.
func linkTree(from, root string) error {
	from, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return put(root, name, path, content)
	})
}

// link links the test files of one folder of the driver's old module into root. It returns the
// number of files.
func link(f folder, testdata, root string) (n int, err error) {
	if err := os.MkdirAll(filepath.Join(root, f.spec), 0o755); err != nil {
		return 0, err
	}
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
		if err := put(root, filepath.Join(f.spec, filepath.Base(file)), file, content); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// put links a test file into root. If an amendment changes the file, it writes the changed file
// instead.
func put(root, name, file string, content []byte) error {
	to := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	amended := amend(filepath.ToSlash(name), content)
	if bytes.Equal(amended, content) {
		return os.Symlink(file, to)
	}
	fmt.Printf("  amended: %s\n", name)
	return os.WriteFile(to, amended, 0o600)
}

// amendment changes the requests that a test file expects, because the driver has changed since the
// file was written. The server has no influence on these requests, so it is still tested.
type amendment struct {
	file string // the file, relative to the folder source
	old  *regexp.Regexp
	new  string
	// before says that only the files of specsVersion need the change. Newer files do not need it.
	before bool
}

func amendments() []amendment {
	// The driver looks up a GridFS file with {_id: {$eq: id}}.
	byID := regexp.MustCompile(`("filter": \{\s*"_id": )(\{\s*"\$oid": "[0-9a-f]{24}"\s*\})`)
	return []amendment{
		{file: "retryable-reads/tests/unified/gridfs-download.json", old: byID, new: `$1{"$$eq": $2}`},
		{file: "retryable-reads/tests/unified/gridfs-download-serverErrors.json", old: byID, new: `$1{"$$eq": $2}`},
		{
			// The driver sends no maxTimeMS with the getMore of a cursor that is not tailable.
			file: "client-side-operations-timeout/tests/runCursorCommand.json", before: true,
			old: regexp.MustCompile(`(?s)("Non-tailable cursor lifetime remaining timeoutMS applied to getMore if timeoutMode is unset".*?` +
				`"getMore": .*?"maxTimeMS": \{\s*"\$\$exists": )true`), new: "${1}false",
		},
	}
}

// amend returns the content of a test file with the requests that this version of the driver sends.
func amend(name string, content []byte) []byte {
	given := os.Getenv("SHEAF_SPECIFICATIONS") != ""
	for _, a := range amendments() {
		if a.file == name && !(a.before && given) {
			content = a.old.ReplaceAll(content, []byte(a.new))
		}
	}
	return content
}
