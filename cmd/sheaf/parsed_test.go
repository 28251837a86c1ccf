package main

import (
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestParsedOptions(t *testing.T) {
	t.Parallel()
	cmd := newServe()
	if got := parsedOptions(cmd.Flags()); len(got) != 0 {
		t.Errorf("defaults are shown: %v", got)
	}
	if err := cmd.Flags().Parse([]string{
		"--port", "0", "--dir=/d", "--bind=::1",
		"--memory", "--slow-ms=7",
	}); err != nil {
		t.Fatal(err)
	}
	want := bson.D{
		{"net", bson.D{{"bindIp", "::1"}, {"port", int32(0)}}},
		{"storage", bson.D{{"dbPath", "/d"}}},
		{"sheaf", bson.D{{"memory", true}}},
		{"operationProfiling", bson.D{{"slowOpThresholdMs", int32(7)}}},
	}
	if got := parsedOptions(cmd.Flags()); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name := range mongoNames {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("there is no flag %s", name)
		}
	}
}
