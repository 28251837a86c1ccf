package pages

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/conformance/internal/npm"
)

const (
	docs        = "../../docs"
	stepTimeout = 3 * time.Minute
)

var update = flag.Bool("update", false, "write the answers of this run into the page")

// block is a fenced block of a page. It contains commands with their answers, or other text.
type block struct {
	kind  string // console, server or mongosh; blocks of the kinds js and text are not run
	steps []step
	body  string // the text of a block that is not run
}

type step struct {
	command string
	answer  string
}

// prompts maps a kind of block to the prefix of its commands. continued is the prefix of the
// further lines of a command.
var prompts = map[string]string{"console": "$ ", "server": "$ ", "mongosh": "> "}

const continued = "| "

// shown lists the kinds of blocks that are not run.
var shown = map[string]bool{"js": true, "text": true}

// parse splits a page into text and blocks. text[i] comes before blocks[i], and the last text comes
// after the last block.
func parse(t *testing.T, content string) (text []string, blocks []block) {
	t.Helper()
	parts := strings.Split(content, "```")
	if len(parts)%2 == 0 {
		t.Fatal("a block is not closed")
	}
	for i, part := range parts {
		if i%2 == 0 {
			text = append(text, part)
			continue
		}
		kind, body, _ := strings.Cut(part, "\n")
		if shown[kind] {
			blocks = append(blocks, block{kind: kind, body: body})
			continue
		}
		prompt, ok := prompts[kind]
		if !ok {
			t.Fatalf("unknown kind of block %q", kind)
		}
		b := block{kind: kind}
		for line := range strings.Lines(body) {
			line = strings.TrimSuffix(line, "\n")
			if command, ok := strings.CutPrefix(line, prompt); ok {
				b.steps = append(b.steps, step{command: command})
				continue
			}
			if len(b.steps) == 0 {
				t.Fatalf("a block of %s does not begin with a command: %s", kind, line)
			}
			last := &b.steps[len(b.steps)-1]
			if more, ok := strings.CutPrefix(line, continued); ok && last.answer == "" {
				last.command += "\n" + more
			} else {
				last.answer += line + "\n"
			}
		}
		blocks = append(blocks, b)
	}
	return text, blocks
}

func format(text []string, blocks []block) string {
	var out strings.Builder
	for i, b := range blocks {
		out.WriteString(text[i] + "```" + b.kind + "\n" + b.body)
		for _, s := range b.steps {
			out.WriteString(prompts[b.kind] + strings.ReplaceAll(s.command, "\n", "\n"+continued) + "\n" + s.answer)
		}
		out.WriteString("```")
	}
	return out.String() + text[len(blocks)]
}

// guide runs the commands of one page in a temporary directory.
type guide struct {
	t      *testing.T
	dir    string
	port   string
	server *exec.Cmd
	mo     *shell
}

// TestPages runs every page with commands.
func TestPages(t *testing.T) {
	bin := os.Getenv("SHEAF_BIN")
	if bin == "" {
		t.Skip("set SHEAF_BIN to the sheaf program")
	}
	npm.Packages(t) // the pages use mongosh, and the tour uses npm to load its data
	pages, err := filepath.Glob(filepath.Join(docs, "operations", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages of operations: %v", err)
	}
	for _, page := range []string{"tour.md", "aggregation.md", "indexes.md"} {
		pages = append(pages, filepath.Join(docs, page))
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			runPage(t, bin, page)
		})
	}
}

func runPage(t *testing.T, bin, page string) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text, blocks := parse(t, string(content))
	g := newGuide(t, bin)
	for i := range blocks {
		for j := range blocks[i].steps {
			s := &blocks[i].steps[j]
			got := g.run(blocks[i].kind, s.command)
			if *update {
				s.answer = got
			} else if comparable(got) != comparable(s.answer) {
				t.Errorf("%s\ngot\n%s\nwant\n%s", s.command, got, s.answer)
			}
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(page, []byte(format(text, blocks)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// newGuide creates a directory with the parts of the repository that the commands of a page use.
func newGuide(t *testing.T, bin string) *guide {
	t.Helper()
	g := &guide{t: t, dir: t.TempDir()}
	folder, err := filepath.Abs(docs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(g.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"bin/sheaf": bin, "docs": folder} {
		if err := os.Symlink(to, filepath.Join(g.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// run executes one command and returns its output as a terminal would show it.
func (g *guide) run(kind, command string) string {
	switch kind {
	case "server":
		g.serve(command)
		return ""
	case "mongosh":
		if g.mo == nil {
			g.mo = startShell(g.t, g.dir, "mongodb://127.0.0.1:"+g.port+"/?directConnection=true")
		}
		command = strings.ReplaceAll(command, "127.0.0.1:27017", "127.0.0.1:"+g.port)
		answer := g.mo.ask(strings.ReplaceAll(command, "\n", " "))
		if strings.Contains(command, "shutdownServer") {
			_ = g.server.Wait() // until the server has released its directory
		}
		return answer
	}
	if strings.HasPrefix(command, "go build ") {
		return "" // the program is already built
	}
	if strings.HasPrefix(command, "bin/sheaf ") && !strings.Contains(command, " --dir ") {
		command += " --uri 'mongodb://127.0.0.1:" + g.port + "/?directConnection=true'"
	}
	if arguments, ok := strings.CutPrefix(command, "mongosh "); ok {
		command = "HOME=" + g.dir + " " + mongosh(g.t) + " --norc --port " + g.port + " " + arguments
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), stepTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = g.dir
	out, err := cmd.CombinedOutput()
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	if err != nil && len(out) == 0 {
		g.t.Fatalf("%s: %v", command, err)
	}
	return withoutWarnings(string(out))
}

// withoutWarnings removes the warnings of npm about the user's settings.
func withoutWarnings(out string) string {
	var kept strings.Builder
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "npm warn") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// serve starts a server on a free port and waits until it is ready. The following commands use this
// server.
func (g *guide) serve(command string) {
	g.mo = nil
	args := append(strings.Fields(command)[1:], "--port", "0", "--ready-json")
	cmd := exec.Command(filepath.Join(g.dir, "bin", "sheaf"), args...)
	cmd.Dir = g.dir
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.server = cmd
	g.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	var ready struct{ Address string }
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if json.Unmarshal(lines.Bytes(), &ready) == nil && ready.Address != "" {
			g.port = ready.Address[strings.LastIndexByte(ready.Address, ':')+1:]
			return
		}
	}
	g.t.Fatal("the server did not become ready")
}

var changing = []*regexp.Regexp{
	regexp.MustCompile(`in [0-9.]+m?s \([0-9]+/s\)`),
	regexp.MustCompile(`[0-9a-f]{24}`),
}

// comparable replaces the parts of an answer that are different in each run.
func comparable(text string) string {
	for _, r := range changing {
		text = r.ReplaceAllString(text, "…")
	}
	return strings.TrimSpace(text)
}

// shell is a running mongosh process.
type shell struct {
	t     *testing.T
	lines *bufio.Scanner
	send  func(string)
}

func mongosh(t *testing.T) string {
	t.Helper()
	return filepath.Join(npm.Packages(t), "node_modules", ".bin", "mongosh")
}

// endMark is the line that the shell prints after every answer, so that the test finds the end of
// the answer.
const endMark = "--end-of-answer--"

func startShell(t *testing.T, dir, uri string) *shell {
	t.Helper()
	cmd := exec.Command(mongosh(t), "--quiet", "--norc", uri)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=dumb", "HOME="+dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	return &shell{t: t, lines: bufio.NewScanner(stdout), send: func(line string) { fmt.Fprintln(stdin, line) }}
}

var prompt = regexp.MustCompile(`^(?:(?:rs0 \[direct: primary\] )?[a-z]+> ?)+`)

// times matches the fields with times that a replica set adds to every reply.
var times = regexp.MustCompile(`(?s),\s+'\$clusterTime': \{.*?\n  \},\s+operationTime: Timestamp\(\{[^}]*\}\)`)

// withoutTimes removes the fields that times matches. If the remaining answer is short, it is
// joined into one line, as mongosh would print it.
func withoutTimes(answer string) string {
	rest := times.ReplaceAllString(answer, "")
	if line := strings.Join(strings.Fields(rest), " ") + "\n"; rest != answer && len(line) <= 73 {
		return line
	}
	return rest
}

// ask sends one command to the shell and returns the answer.
func (s *shell) ask(command string) string {
	s.send(command)
	s.send("print('" + endMark + "')")
	var out strings.Builder
	for s.lines.Scan() {
		line := prompt.ReplaceAllString(s.lines.Text(), "")
		if strings.Contains(line, endMark) {
			return withoutTimes(out.String())
		}
		if line != "" || out.Len() > 0 {
			out.WriteString(line + "\n")
		}
	}
	s.t.Fatalf("mongosh ended at %s", command)
	return ""
}
