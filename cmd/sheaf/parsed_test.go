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
	if err := cmd.Flags().Parse([]string{"--port", "0", "--dir=/d", "--bind=::1", "--memory", "--slow-ms=7"}); err != nil {
		t.Fatal(err)
	}
	want := bson.D{
		{Key: "net", Value: bson.D{{Key: "bindIp", Value: "::1"}, {Key: "port", Value: int32(0)}}},
		{Key: "storage", Value: bson.D{{Key: "dbPath", Value: "/d"}}},
		{Key: "sheaf", Value: bson.D{{Key: "memory", Value: true}}},
		{Key: "operationProfiling", Value: bson.D{{Key: "slowOpThresholdMs", Value: int32(7)}}},
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
