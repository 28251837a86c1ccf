package main

// allowed maps each accepted finding to the reason why it stays. A key is PKG.NAME or
// PKG.TYPE.METHOD, without internal/. Everything that an accepted declaration uses counts as used.
// Remove a line when its declaration is used.
var allowed = map[string]string{
	"clock.Fixed":              "tests of many packages need a clock that stands still",
	"command.GenericFields":    "tests check the arguments of every command, these included",
	"command/ddl.IndexOptions": "a test checks that each option of an index has a recorded reply",
	"demo.Test":                "the test of each example calls it",
	"keyspace.Spaces":          "tests compare the table with docs/keys.md and with the code",
	"pipeline/parsing.Rules":   "tests run pipelines with each rule of the optimizer alone",
	"table.Store.Interleave":   "tests of several packages run something between two steps of a DDL command",
	"wire.AppendSequence":      "tests of five packages speak the client's half of the protocol",
	"wire.Parse":               "the client's half of the protocol",
	"wire.ReadMessage":         "the client's half of the protocol",
}
