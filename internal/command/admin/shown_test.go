package admin

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

func TestShownCommand(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", maxShownCommand)
	for name, c := range map[string]struct {
		cmd  bsonx.Doc
		want string
	}{
		"small": {bsonx.NewDoc("find", "c", "comment", "mine"), `{ find: "c", comment: "mine" }`},
		"large": {
			bsonx.NewDoc("find", "c", "x", large, "comment", "mine"),
			`{ $truncated: "{ find: "c" }", comment: "mine" }`,
		},
		"no comment":    {bsonx.NewDoc("find", "c", "x", large), `{ $truncated: "{ find: "c" }" }`},
		"large comment": {bsonx.NewDoc("find", "c", "comment", large), `{ $truncated: "{ find: "c" }" }`},
	} {
		if got := strings.ReplaceAll(bsonx.FormatShell(bsonx.Document(shownCommand(c.cmd))), `\"`, `"`); got != c.want {
			t.Errorf("%s: %.200s", name, got)
		}
	}
}
