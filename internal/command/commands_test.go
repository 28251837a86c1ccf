package command_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestCommands runs the files of testdata/commands. Each input line is a command in Extended JSON.
// The directive is the database, and its arguments are the fields of the reply to show. The output
// is the error or these fields.
func TestCommands(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/commands", func(t *testing.T, path string) {
		t.Parallel()
		client := sheaftest.Open(t, &sheaf.Options{TestCommands: true}).Client()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			db := client.Database(d.Cmd)
			var out strings.Builder
			for line := range strings.SplitSeq(d.Input, "\n") {
				if line == "" {
					continue
				}
				cmd, err := bsonxtest.TryParseD(line)
				if err != nil {
					d.Fatalf(t, "%s: %v", line, err)
				}
				raw, err := db.RunCommand(t.Context(), cmd).Raw()
				out.WriteString(answer(raw, err, d.CmdArgs) + "\n")
			}
			return out.String()
		})
	})
}

// builds matches the UUIDs in the message of a failed index build, which differ between runs.
var builds = regexp.MustCompile(`Index build failed: [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}: Collection ([^ ]+) \( [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} \)`)

func answer(raw bson.Raw, err error, picks []datadriven.CmdArg) string {
	var refused mongo.CommandError
	switch {
	case errors.As(err, &refused):
		text := fmt.Sprintf("%d %s: %s", refused.Code, refused.Name,
			builds.ReplaceAllString(refused.Message, "Index build failed: UUID: Collection $2 ( UUID )"))
		for _, pick := range picks {
			if v, err := refused.Raw.LookupErr(pick.Key); err == nil {
				text += " " + pick.Key + ": " + v.String()
			}
		}
		return text
	case err != nil && len(picks) == 0:
		return err.Error()
	}
	if failed, err := raw.LookupErr("writeErrors"); err == nil {
		return failed.String()
	}
	var out []string
	for _, pick := range picks {
		v, err := raw.LookupErr(strings.Split(pick.Key, ".")...)
		if err != nil {
			out = append(out, pick.Key+" is missing")
			continue
		}
		out = append(out, v.String())
	}
	if len(out) == 0 {
		return "ok"
	}
	return strings.Join(out, " ")
}
