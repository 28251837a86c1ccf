package main

import (
	"fmt"
	"strings"
)

// These limits hold for a package under internal/ (maxLines), for a file (maxFile), and for a type
// outside of patterns/ (maxMethods).
const (
	maxLines    = 9000
	maxFile     = 511
	maxMethods  = 40
	facadesRoot = "patterns/"
)

// knotLimits maps a package to the number of files that its largest knot may have. A key with a
// slash at the end stands for all packages in that folder.
var knotLimits = map[string]int{
	"command": 15, "command/": 15, "plan": 15, "plan/": 15, "table": 15, "write": 15,
	"pipeline": 30, "expr": 30, "filter": 30, "update": 30,
}

// exceeded returns a line for each limit that a package exceeds.
func exceeded(figures []figure) (out []string) {
	for _, f := range figures {
		if n := knotLimit(f.pkg); n > 0 && len(f.knot) > n {
			out = append(out, fmt.Sprintf("%s: a knot of %d files, more than %d", f.pkg, len(f.knot), n))
		}
		if f.longest > maxFile {
			out = append(out, fmt.Sprintf("%s: %s has %d lines, more than %d", f.pkg,
				f.longestFile, f.longest, maxFile))
		}
		if f.methods > maxMethods && !strings.HasPrefix(f.pkg, facadesRoot) {
			out = append(out, fmt.Sprintf("%s: %s has %d methods, more than %d", f.pkg,
				f.methodsOf, f.methods, maxMethods))
		}
		if strings.Contains(f.path, "/internal/") && f.lines > maxLines {
			out = append(out, fmt.Sprintf("%s: %d lines, more than %d", f.pkg, f.lines, maxLines))
		}
	}
	return out
}

func knotLimit(name string) int {
	if n, ok := knotLimits[name]; ok {
		return n
	}
	for folder, n := range knotLimits {
		if strings.HasSuffix(folder, "/") && strings.HasPrefix(name, folder) {
			return n
		}
	}
	return 0
}
