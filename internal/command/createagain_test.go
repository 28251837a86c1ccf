package command_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestCreateAgain creates each collection twice. The second attempt must succeed with the same
// options, also in another order or with other numeric types. It must fail with other options.
func TestCreateAgain(t *testing.T) {
	t.Parallel()
	h := newHotPath(t, 0)
	validator, key := bsonx.NewDoc("a", 1), bsonx.NewDoc("_id", 1)
	french := bsonx.NewDoc("locale", "fr")
	for _, c := range []struct {
		name               string
		first, same, other []any
	}{
		{
			"order",
			[]any{"validator", validator, "collation", french},
			[]any{"collation", french, "validator", validator},
			[]any{"collation", french},
		},
		{
			"number",
			[]any{"validator", validator},
			[]any{"validator", bsonx.NewDoc("a", 1.0)},
			[]any{"validator", bsonx.NewDoc("a", 2)},
		},
		{
			"capped",
			[]any{"capped", true, "size", 4096, "collation", french},
			[]any{"collation", french, "size", 4096.0, "capped", true},
			[]any{"size", 8192, "capped", true, "collation", french},
		},
		{
			"clustered",
			[]any{"clusteredIndex", bsonx.NewDoc("key", key, "unique", true), "expireAfterSeconds", 5},
			[]any{"expireAfterSeconds", 5.0, "clusteredIndex", bsonx.NewDoc("unique", true, "key", key)},
			[]any{"clusteredIndex", bsonx.NewDoc("key", key, "unique", true)},
		},
		{
			"view",
			[]any{"viewOn", "c", "pipeline", []bsonx.Doc{bsonx.NewDoc("$limit", 1)}, "collation", french},
			[]any{"collation", french, "pipeline", []bsonx.Doc{bsonx.NewDoc("$limit", 1.0)}, "viewOn", "c"},
			[]any{"viewOn", "d", "pipeline", []bsonx.Doc{bsonx.NewDoc("$limit", 1)}, "collation", french},
		},
		{
			"levels",
			[]any{"validationLevel", "off", "validationAction", "warn"},
			[]any{"validationAction", "warn", "validationLevel", "off"},
			[]any{"validationLevel", "off", "validator", validator},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.tb = t
			for _, options := range [][]any{c.first, c.first, c.same} {
				h.run(bsonx.NewDoc(append([]any{"create", c.name, "$db", "db"}, options...)...))
			}
			reply := h.ask(bsonx.NewDoc(append([]any{"create", c.name, "$db", "db"}, c.other...)...))
			if code, _ := reply.Lookup("code").AsInt64(); code != 48 {
				t.Errorf("other options: %v", reply)
			}
		})
	}
}
