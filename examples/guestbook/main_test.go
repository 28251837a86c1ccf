package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/sim"
)

// TestGuestBook runs the scenario, and expects its line in the printed table.
func TestGuestBook(t *testing.T) {
	t.Parallel()
	cmd := sim.Command(definition())
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{
		"run", "sign", "--memory", "--quiet", "--users", "20",
		"--iterations", "2", "--resolution", "50ms",
	})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] == "sign" && fields[len(fields)-1] == "ok" {
			return
		}
	}
	t.Errorf("no line of the scenario, or its check failed:\n%s", out.String())
}
