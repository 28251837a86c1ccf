// Commits checks the messages of the commits that came after a fixed one. A subject has at most 72
// characters and the form "package: what". A body follows it, whose lines have at most 72
// characters too.
//
//	go run ./tools/commits           prints what is wrong, and exits with 1
//	go run ./tools/commits -after HASH
//
// A history that does not reach back to that commit, as a shallow clone has, is not checked.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// lastUnchecked is the last commit whose message may be as it is.
const lastUnchecked = "ca26860c20739f78425b996e33c87871087e31bf"

func main() {
	after := flag.String("after", lastUnchecked, "check the commits after this one")
	flag.Parse()
	wrong, err := history{"."}.check(*after)
	switch {
	case errors.Is(err, errNoHistory):
		fmt.Println("commits:", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "commits:", err)
		os.Exit(1)
	case len(wrong) > 0:
		fmt.Fprintln(os.Stderr, strings.Join(wrong, "\n"))
		os.Exit(1)
	}
}

// errNoHistory says that there is nothing to check.
var errNoHistory = errors.New("no messages are checked")

// history is a folder of a git repository.
type history struct{ dir string }

// check returns a line for each thing that is wrong with the messages of the commits after one.
func (h history) check(after string) (wrong []string, err error) {
	if _, err := h.git("rev-parse", "--git-dir"); err != nil {
		return nil, fmt.Errorf("%w: this is no git repository", errNoHistory)
	}
	if _, err := h.git("merge-base", "--is-ancestor", after, "HEAD"); err != nil {
		return nil, fmt.Errorf("%w: the history does not reach back to %.8s", errNoHistory, after)
	}
	log, err := h.git("log", "--no-merges", "--reverse", "-z", "--format=%h%n%B", after+"..HEAD")
	if err != nil {
		return nil, err
	}
	for commit := range strings.SplitSeq(log, "\x00") {
		hash, message, ok := strings.Cut(commit, "\n")
		if !ok {
			continue // the end
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
