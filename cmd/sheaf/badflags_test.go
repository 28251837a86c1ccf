package main

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// badFlag has values that a flag must refuse, because they are below or above its bounds or not in
// its list.
type badFlag struct {
	// values are the bad values. In them, FILE stands for an existing file, and DIR for an existing
	// directory.
	values []string
	// with holds further arguments, without which the flag has no meaning.
	with []string
	// want is part of the error. If it is empty, the error must name the flag.
	want string
	// free says why the flag has no bad value.
	free string
}

// These values are bad for several flags: paths that cannot be written or opened, an empty URI, and
// wrong columns.
var (
	badReport  = badFlag{values: []string{"FILE/x", "missing/x", "DIR"}}
	badOut     = badFlag{values: []string{"FILE/x", "missing/x"}}
	badStore   = badFlag{values: []string{"", "FILE", "FILE/x"}}
	badURI     = badFlag{values: []string{""}}
	badColumns = badFlag{values: []string{"", "a.nosuch()", "a,a"}, want: "column"}
)

// badFlags has a case for each flag that has bad values of the right type.
func badFlags() map[string]map[string]badFlag {
	return map[string]map[string]badFlag{
		"sheaf serve":       badServeFlags(),
		"sheaf import":      badImportFlags(),
		"sheaf export":      badExportFlags(),
		"sheaf sim run":     badRunFlags(),
		"sheaf sim versus":  badVersusFlags(),
		"sheaf sim report":  {"out": badOut, "html": badReport, "markdown": badReport},
		"sheaf sim compare": {"html": badReport, "markdown": badReport},
		"sheaf sim agent": {
			"listen": {values: []string{"x", "127.0.0.1:99999", "127.0.0.1:-1"}, want: "listen on"},
			"token":  {values: []string{"short"}, with: []string{"--listen", "127.0.0.1:0"}, want: "token"},
		},
	}
}

func badServeFlags() map[string]badFlag {
	return map[string]badFlag{
		"dir":  badStore,
		"bind": {values: []string{"", "127.0.0.1,", "192.0.2.1"}},
		"port": {values: []string{"-2", "65536"}},
		"unix-socket": {values: []string{
			"FILE", "DIR", "missing/s.sock",
			"/tmp/" + strings.Repeat("a", 200),
		}, want: "socket"},
		"memory-budget":   {values: []string{"1KiB", "-1", "0", "nan", "inf", "1e300", "512 apples"}},
		"oplog-size":      {values: []string{"1MiB", "-1", "0", "nan", "1e300"}},
		"log-level":       {values: []string{"", "loud", "info+2"}},
		"log-format":      {values: []string{"xml"}},
		"log-file":        {values: []string{"DIR", "missing/log"}},
		"log-rotate":      {values: []string{"", "never"}, with: []string{"--log-file", "DIR/never-written"}},
		"max-connections": {values: []string{"-3", "0", "10000001"}},
		"slow-ms":         {values: []string{"-2", "2147483648", "9223372036854775807"}},
		"sync":            {values: []string{"", "maybe"}},
		"replSet":         {values: []string{"", "a,b", "a/b", "a b", strings.Repeat("a", 129)}},
		"advertise":       {values: []string{"here", ":1", "h:0", "h:70000", "a b:1"}},
		"config":          {values: []string{"missing.yaml", "DIR"}, want: "configuration file"},
	}
}

func badTargetFlags() map[string]badFlag {
	return map[string]badFlag{
		"uri":        badURI,
		"dir":        badStore,
		"db":         {values: []string{""}},
		"collection": {values: []string{""}},
		"format":     {values: []string{"xml"}, want: "unknown format"},
		"columns":    badColumns,
	}
}

func badImportFlags() map[string]badFlag {
	all := badTargetFlags()
	all["delimiter"] = badFlag{values: []string{"ab", `"`, "\n"}}
	all["upsert-fields"] = badFlag{values: []string{"", "a.", ".a", "a..b"}}
	return all
}

func badExportFlags() map[string]badFlag {
	all := badTargetFlags()
	// The directory must exist, because an export does not create a store.
	all["dir"] = badFlag{values: []string{"", "FILE", "FILE/x", "missing"}}
	all["columns"] = badFlag{values: []string{"", "a.nosuch()"}, want: "column"}
	for _, document := range []string{"query", "sort", "projection"} {
		all[document] = badFlag{values: []string{"x", "[]", "{"}}
	}
	all["skip"] = badFlag{values: []string{"-1", "9223372036854775808"}}
	all["limit"] = badFlag{values: []string{"-1", "9223372036854775808"}}
	return all
}

func badLoadFlags() map[string]badFlag {
	return map[string]badFlag{
		"uri": {values: []string{"", "x", "http://h"}}, "dir": {values: []string{"", "FILE", "FILE/x"}, want: "dir"},
		"title":           {free: "any text can be a title"},
		"token":           {values: []string{"short"}, with: []string{"--agents", "127.0.0.1:1"}, want: "token"},
		"param":           {values: []string{"x", "nosuch=1", "numberOfItems=-1"}, want: "param"},
		"users":           {values: []string{"-1", "0", "1000001"}},
		"iterations":      {values: []string{"-1", "0", "100001"}},
		"resolution":      {values: []string{"-1s", "0", "1ns", "2h", "5"}},
		"shape":           {values: []string{"", "square"}},
		"from":            {values: []string{"-1", "1000001"}},
		"steps":           {values: []string{"", "-1", "1000001"}, want: "steps"},
		"spread":          {values: []string{"", "thin"}},
		"delay":           {values: []string{"-1s", "25h"}},
		"warm-up":         {values: []string{"-1", "100001"}},
		"cool-down":       {values: []string{"-1", "100001"}},
		"grace":           {values: []string{"-1s", "0s", "25h"}},
		"max-in-flight":   {values: []string{"-1", "0", "1000001"}},
		"pool-size":       {values: []string{"-1", "0", "65537"}},
		"write-concern":   {values: []string{"-1", "0", "51"}, want: "write concern"},
		"read-concern":    {values: []string{"strong"}, want: "read concern"},
		"read-preference": {values: []string{"nearby"}, want: "read preference"},
		"seed":            {values: []string{"-1", "18446744073709551616"}},
		"agents":          {values: []string{"", "a,,b"}},
		"out":             badOut, "html": badReport, "markdown": badReport,
	}
}

func badRunFlags() map[string]badFlag {
	all, find := badLoadFlags(), []string{"--find-limit"}
	all["p99"] = badFlag{values: []string{"-1s", "0s", "2h"}, with: find}
	all["repeats"] = badFlag{values: []string{"-1", "0", "1001"}, with: find}
	all["max-users"] = badFlag{values: []string{"-1", "0", "1000001"}, with: find}
	return all
}

func badVersusFlags() map[string]badFlag {
	all := badLoadFlags()
	all["rounds"] = badFlag{values: []string{"-1", "0", "1001"}}
	all["param"] = badFlag{values: []string{"x", "nosuch=1"}, want: "param"}
	return all
}

// commandsWithFlags returns the commands that have their own flags.
func commandsWithFlags(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	if cmd.Runnable() && cmd.Flags().HasFlags() {
		all = append(all, cmd)
	}
	for _, sub := range cmd.Commands() {
		all = append(all, commandsWithFlags(sub)...)
	}
	return all
}

// TestEachFlagRefusesBadValues gives every flag of every command values that are out of its bounds
// or have a wrong type. A flag without a case fails the test. A refused command must leave no file
// behind.
func TestEachFlagRefusesBadValues(t *testing.T) {
	cases := badFlags()
	for _, cmd := range commandsWithFlags(newRoot()) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			work := t.TempDir()
			p := places{file: writeFile(t, "in.csv", "a\n1\n"), dir: t.TempDir()}
			t.Chdir(work)
			if _, _, err := sheafCommand(t, "import", p.file, "--dir", p.store(), "-c", "c"); err != nil {
				t.Fatal(err)
			}
			known := cases[cmd.CommandPath()]
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Name == "help" {
					return
				}
				c, ok := known[f.Name]
				delete(known, f.Name)
				for _, value := range c.values {
					expectRefusal(t, cmd, p, f.Name, value, c)
				}
				switch wrong := wrongType(f); {
				case wrong != "":
					expectRefusal(t, cmd, p, f.Name, wrong, badFlag{})
					if f.Value.Type() != "bool" && len(c.values) < 2 {
						t.Errorf("--%s has no values below and above its bounds", f.Name)
					}
				case !ok || len(c.values) == 0 && c.free == "":
					t.Errorf("--%s has no case", f.Name)
				}
			})
			if len(known) > 0 {
				t.Errorf("there are no such flags: %v", slices.Sorted(maps.Keys(known)))
			}
			for _, dir := range []string{work, p.dir} {
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("what was refused left %v, %v", left, err)
				}
			}
		})
		delete(cases, cmd.CommandPath())
	}
	if len(cases) > 0 {
		t.Errorf("there are no such commands: %v", slices.Sorted(maps.Keys(cases)))
	}
}

// wrongType returns a value that the type of the flag refuses, or "" for a flag of text, which
// accepts every value.
func wrongType(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "maybe"
	case "string", "stringSlice", "stringArray":
		return ""
	default:
		return "x"
	}
}

// places holds the paths that replace FILE and DIR in the values of flags.
type places struct{ file, dir string }

func (p places) fill(text string) string {
	return strings.NewReplacer("FILE", p.file, "DIR", p.dir).Replace(text)
}

// store returns a directory with a store.
func (p places) store() string { return filepath.Join(p.dir, "..", "store") }

// usual returns arguments with which a command would run. It leaves out arguments that cannot be
// used together with the flag.
func (p places) usual(cmd *cobra.Command, flag string) []string {
	switch name := cmd.Name(); name {
	case "serve":
		args := []string{}
		if flag != "port" {
			args = append(args, "--port=0")
		}
		if flag != "dir" {
			args = append(args, "--memory")
		}
		return args
	case "import", "export":
		args := []string{p.file}
		if name == "export" {
			args[0] = "-"
		}
		if flag != "format" {
			args = append(args, "--format=csv")
		}
		if flag != "collection" {
			args = append(args, "--collection=c")
		}
		if flag != "dir" && flag != "uri" {
			args = append(args, "--dir="+p.store())
		}
		if name == "export" && flag != "columns" {
			args = append(args, "--columns=a")
		}
		return args
	case "run", "versus":
		args := []string{map[string]string{"run": "cart-reserve", "versus": "cart"}[name], "--quiet"}
		for _, f := range []struct{ name, value string }{{"users", "1"}, {"iterations", "1"}} {
			if flag != f.name {
				args = append(args, "--"+f.name+"="+f.value)
			}
		}
		if flag != "uri" && flag != "dir" {
			args = append(args, "--memory")
		}
		return args
	case "report", "compare":
		return []string{p.file}
	default:
		return nil
	}
}

// expectRefusal runs a command with a flag's value, and expects an error that names the mistake.
func expectRefusal(t *testing.T, cmd *cobra.Command, p places, flag, value string, c badFlag) {
	t.Helper()
	args := append(strings.Fields(cmd.CommandPath())[1:], p.usual(cmd, flag)...)
	for _, arg := range c.with {
		args = append(args, p.fill(arg))
	}
	args = append(args, "--"+flag+"="+p.fill(value))
	want := c.want
	if want == "" {
		want = "--" + flag
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	if err := root.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: want an error with %q, got %v", strings.Join(args, " "), want, err)
	}
}

// TestFlagsThatWouldDoNothingAreRefused sets flags that have no effect because of another flag.
func TestFlagsThatWouldDoNothingAreRefused(t *testing.T) {
	file := writeFile(t, "in.json", "{}")
	for want, args := range map[string]string{
		"--columns is for CSV":               "import FILE --columns a",
		"--delimiter is for CSV":             "import FILE --delimiter ;",
		"--ignore-blanks is for CSV":         "import FILE --ignore-blanks",
		"--columns is for":                   "export - --columns a",
		"--canonical is for JSON":            "export x.csv --columns a --canonical",
		"--replace-invalid is for JSON":      "export x.csv --columns a --replace-invalid",
		"leave out one of them":              "serve --memory --salvage",
		"--p99 is for --find-limit":          "sim run cart-reserve --p99 5ms",
		"--repeats is for --find-limit":      "sim run cart-reserve --repeats 2",
		"--max-users is for --find-limit":    "sim run cart-reserve --max-users 2",
		"--steps is for the shape steps":     "sim run cart-reserve --steps 1,2 --shape ramp",
		"--from is for the shape ramp":       "sim run cart-reserve --from 5",
		`unknown command "rnu" for "sheaf s`: "sim rnu",
	} {
		fields := strings.Fields(strings.ReplaceAll(args, "FILE", file))
		if fields[0] == "import" || fields[0] == "export" {
			fields = append(fields, "--dir", t.TempDir(), "-c", "c")
		}
		if _, _, err := sheafCommand(t, fields...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", args, want, err)
		}
	}
}
