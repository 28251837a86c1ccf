package admin

import (
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// readHost reads facts about the machine from files under /etc, /proc and /sys.
func readHost() hostFacts { return hostOf(os.DirFS("/")) }

func hostOf(root fs.FS) hostFacts {
	facts := hostFacts{}
	release, _ := fs.ReadFile(root, "etc/os-release")
	for line := range strings.Lines(string(release)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}
		switch key {
		case "NAME":
			facts.name = value
		case "VERSION_ID":
			facts.version = value
		}
	}
	if nodes, err := fs.Glob(root, "sys/devices/system/node/node[0-9]*"); err == nil {
		facts.nodes = len(nodes)
	}
	kernel, _ := fs.ReadFile(root, "proc/sys/kernel/osrelease")
	facts.kernel = strings.TrimSpace(string(kernel))
	return facts
}

func (f *hostFacts) appendExtra(b *bsonx.Builder) {
	if f.kernel != "" {
		b.String("kernelVersion", f.kernel)
	}
	b.Int64("pageSize", int64(os.Getpagesize()))
}
