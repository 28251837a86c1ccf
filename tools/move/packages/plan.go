package main

import (
	"fmt"
	"os"
	"path"
	"strings"
)

// plan says where the files of a package are moved.
type plan struct {
	dir     string            // the folder of the package, relative to the module
	to      map[string]string // from file name to folder
	renames map[string]string
	outside map[string]bool // the tests that move to the package of the outside tests
}

func readPlan(file, dir string) (*plan, error) {
	p := &plan{dir: dir, to: map[string]string{}, renames: map[string]string{}, outside: map[string]bool{}}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "outside":
			for _, name := range f[1:] {
				p.outside[name] = true
			}
		case f[0] == "rename" && len(f) == 3:
			p.renames[f[1]] = f[2]
		default:
			for _, name := range f[1:] {
				if p.to[name] != "" {
					return nil, fmt.Errorf("%s stands twice in the plan", name)
				}
				p.to[name] = path.Clean(f[0])
			}
		}
	}
	return p, nil
}

// target returns the folder of a file of the package after the move.
func (p *plan) target(name string) string {
	if to, ok := p.to[name]; ok {
		return to
	}
	return p.dir
}
