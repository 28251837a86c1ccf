package command_test

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestDistinctByCollation checks that distinct returns the same values without an index and with
// indexes of any collation. It must use an index that has one entry for each value.
func TestDistinctByCollation(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	run := func(command string) bson.Raw {
		t.Helper()
		out, err := db.RunCommand(t.Context(), bsonxtest.ParseD(t, command)).Raw()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return out
	}
	const docs = `[{"_id":1,"b":1},{"_id":2,"b":1,"a":null},{"_id":3,"b":1,"a":"x"},{"_id":4,"b":2,"a":"X"},{"_id":5,"b":2,"a":5},
		{"_id":6,"b":2,"a":"e"},{"_id":7,"b":3,"a":"é"},{"_id":8,"b":3,"a":"E"},{"_id":9,"b":3,"a":{"k":"x"}},{"_id":10,"b":3,"a":{"k":"X"}},{"_id":11,"b":4,"a":"apple"}]`
	indexes := map[string]string{
		"none":     ``,
		"plain":    `{"key":{"a":1},"name":"i"}`,
		"english":  `{"key":{"a":1},"name":"i","collation":{"locale":"en","strength":2}}`,
		"compound": `{"key":{"b":1,"a":1},"name":"i","collation":{"locale":"en","strength":2}}`,
		"reverse":  `{"key":{"a":-1,"b":1},"name":"i","collation":{"locale":"fr"}}`,
	}
	for coll, spec := range indexes {
		run(`{"insert":"` + coll + `","documents":` + docs + `}`)
		if spec != "" {
			run(`{"createIndexes":"` + coll + `","indexes":[` + spec + `]}`)
		}
	}
	distinct := func(coll, key, collation, query string) string {
		return fmt.Sprintf(`{"distinct":%q,"key":%q,"query":%s,"collation":{%s}}`, coll, key, query, collation)
	}
	for _, collation := range []string{
		`"locale":"simple"`, `"locale":"en","strength":2`,
		`"locale":"en","strength":1`, `"locale":"fr"`,
	} {
		for _, query := range []string{
			`{}`, `{"a":"x"}`, `{"a":{"$gt":"e"}}`, `{"a":{"$gt":1}}`, `{"a":{"$in":["X",5,null]}}`, `{"a":null}`,
			`{"b":1}`, `{"b":{"$gt":1}}`, `{"b":3}`,
			`{"a":{"$regex":"^x"}}`, `{"a":{"$in":[5,{"$regularExpression":{"pattern":"p","options":""}}]}}`, `{"a":{"$type":"string"}}`,
		} {
			for _, key := range []string{"a", "b", "a.k"} {
				want := counted(run(distinct("none", key, collation, query)))
				for coll := range indexes {
					command := distinct(coll, key, collation, query)
					if got := counted(run(command)); got != want {
						t.Errorf("%s: %d values, want %d", command, got, want)
					}
				}
			}
		}
	}
	for command, want := range map[string]string{
		distinct("english", "a", `"locale":"en","strength":2`, `{}`):                    "FETCH",
		distinct("english", "a", `"locale":"fr"`, `{}`):                                 "COLLSCAN",
		distinct("english", "a", `"locale":"simple"`, `{"a":{"$gt":1}}`):                "PROJECTION_COVERED",
		distinct("plain", "a", `"locale":"en","strength":2`, `{"a":{"$gt":1}}`):         "PROJECTION_COVERED",
		distinct("plain", "a", `"locale":"en","strength":2`, `{"a":{"$regex":"^x"}}`):   "PROJECTION_COVERED",
		distinct("english", "a", `"locale":"en","strength":2`, `{"a":{"$regex":"^x"}}`): "COLLSCAN",
	} {
		plan := run(`{"explain":`+command+`}`).Lookup("queryPlanner", "winningPlan", "stage").StringValue()
		if plan != want {
			t.Errorf("%s: %s, want %s", command, plan, want)
		}
	}
}

// counted returns the number of values in the reply of a distinct.
func counted(reply bson.Raw) int {
	values, err := reply.Lookup("values").Array().Values()
	if err != nil {
		return -1
	}
	return len(values)
}
