package command_test

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestDecimalsAsIntegers gives decimals to arguments that must be integers. As in MongoDB, they are
// rounded to the nearest integer, and halves to the even one.
func TestDecimalsAsIntegers(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	docs := bson.A{}
	for i := range 8 {
		docs = append(docs, bson.D{{"_id", i}, {"a", bson.A{1, 2, 3, 4, 5}}})
	}
	if err := db.RunCommand(t.Context(), bson.D{{"insert", "c"}, {"documents", docs}}).Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cmd, n string
		// want is the number of documents in the first batch, n, or the length of a slice. A
		// negative want is an error code.
		want int
	}{
		{`{"find": "c", "limit": %s}`, "1.5", 2},
		{`{"find": "c", "limit": %s}`, "2.5", 2},
		{`{"find": "c", "limit": %s}`, "-0.9", -2},
		{`{"find": "c", "skip": %s}`, "1.9", 6},
		{`{"find": "c", "skip": %s}`, "0.5", 8},
		{`{"find": "c", "batchSize": %s}`, "1.5", 2},
		{`{"aggregate": "c", "pipeline": [], "cursor": {"batchSize": %s}}`, "3.5", 4},
		{`{"listIndexes": "c", "cursor": {"batchSize": %s}}`, "-0.9", -2},
		{`{"count": "c", "skip": %s}`, "1.5", 6},
		{`{"aggregate": "c", "pipeline": [{"$sample": {"size": %s}}], "cursor": {}}`, "1.5", 2},
		{`{"find": "c", "sort": {"_id": %s}}`, "1.5", -15975},
		{`{"find": "c", "sort": {"_id": %s}}`, "-0.9", 8},
		{`{"aggregate": "c", "pipeline": [{"$sort": {"_id": %s}}], "cursor": {}}`, "1.5", -15975},
		{`{"aggregate": "c", "pipeline": [{"$sort": {"_id": %s}}], "cursor": {}}`, "-0.9", 8},
		{`{"find": "c", "filter": {"_id": 0}, "projection": {"a": {"$slice": %s}}}`, "1.5", 2},
		{`{"find": "c", "filter": {"_id": 0}, "projection": {"a": {"$slice": [%s, 9]}}}`, "-1.5", 2},
	} {
		text := fmt.Sprintf(c.cmd, `{"$numberDecimal": "`+c.n+`"}`)
		raw, err := db.RunCommand(t.Context(), bsonxtest.ParseD(t, text)).Raw()
		got := 0
		switch batch, ok := raw.Lookup("cursor", "firstBatch").ArrayOK(); {
		case err != nil:
			got = -int(errorCode(t, err))
		case !ok:
			got = int(raw.Lookup("n").AsInt64())
		default:
			values, _ := batch.Values()
			if got = len(values); strings.Contains(c.cmd, "$slice") {
				elements, _ := values[0].Document().Lookup("a").Array().Values()
				got = len(elements)
			}
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", text, got, c.want)
		}
	}
}
