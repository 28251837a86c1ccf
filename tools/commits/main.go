// Commits checks the commit messages after a fixed commit. A subject must have the form "package:
// what" and at most 72 characters. A body must follow, wrapped at 72 characters.
//
//	go run ./tools/commits               prints the faults, and exits with 1 if there are any
//	go run ./tools/commits -after HASH   checks the commits after HASH
//
// If the history does not contain the fixed commit, as in a shallow clone, only the newest message
// is checked. Without a repository, as in an archive of the sources, nothing is checked. The
// program says both.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// lastUnchecked is the newest commit that is exempt. By default, all commits that follow it are
// checked.
const lastUnchecked = "ca26860c20739f78425b996e33c87871087e31bf"

func main() {
	after := flag.String("after", lastUnchecked, "check the commits after this one")
	flag.Parse()
	wrong, err := history{"."}.check(*after)
	switch {
	case errors.Is(err, errNoRepository):
		fmt.Println("commits: skipped:", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "commits:", err)
		os.Exit(1)
	case len(wrong) > 0:
		fmt.Fprintln(os.Stderr, strings.Join(wrong, "\n"))
		os.Exit(1)
	}
}

// errNoRepository is the error outside of a git repository.
var errNoRepository = errors.New("this is no git repository")

// history is the git repository in a folder.
type history struct{ dir string }

// check returns a line for each fault in the messages of the commits that follow the given commit.
func (h history) check(after string) (wrong []string, err error) {
	if _, err := h.git("rev-parse", "--git-dir"); err != nil {
		return nil, errNoRepository
	}
	commits := after + "..HEAD"
	if _, err := h.git("merge-base", "--is-ancestor", after, "HEAD"); err != nil {
		fmt.Printf("commits: the history does not reach back to %.8s: only the newest message is checked\n", after)
		commits = "-1"
	}
	log, err := h.git("log", "--no-merges", "--reverse", "-z", "--format=%h%n%B", commits)
	if err != nil {
		return nil, err
	}
	for commit := range strings.SplitSeq(log, "\x00") {
		hash, message, ok := strings.Cut(commit, "\n")
		if !ok {
			continue // nothing follows the last separator
		}
		for _, what := range faults(message) {
			wrong = append(wrong, hash+" "+what)
		}
	}
	return wrong, nil
}

func (h history) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", h.dir}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}
