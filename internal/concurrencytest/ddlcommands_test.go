package concurrencytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/transfer"
)

// ddlCommand changes the catalog.
type ddlCommand struct {
	name string
	// on is the database of the command: "" for the database of the race, otherDB for its other
	// database.
	on string
	// reads means that the command reads d and then writes, which are two steps.
	reads bool
	// makes means that the command creates c before it writes to it, which is a separate step.
	makes bool
	// standalone means that only a standalone server has the command.
	standalone bool
	cmd        func(db string) bson.D
	// transaction has further commands, which run with cmd in a transaction.
	transaction []bson.D
	// client, if not nil, runs in place of cmd: a program that sends commands.
	client func(db *mongo.Database) string
}

func onDB(name string, pairs ...any) ddlCommand {
	return ddlCommand{name: name, cmd: func(string) bson.D { return doc(pairs...) }}
}

// writes does the same as onDB for a command that creates c if it does not exist.
func writes(name string, pairs ...any) ddlCommand {
	c := onDB(name, pairs...)
	c.makes = true
	return c
}

func renames(name, from, to string, dropTarget bool) ddlCommand {
	return ddlCommand{name: name, on: "admin", cmd: func(db string) bson.D {
		return doc("renameCollection", db+from, "to", db+to, "dropTarget", dropTarget)
	}}
}

// pipes returns a pipeline that reads d and writes c.
func pipes(name string, stages func(db string) bson.A) ddlCommand {
	return ddlCommand{name: name, reads: true, cmd: func(db string) bson.D {
		return doc("aggregate", "d", "pipeline", stages(db), "cursor", doc())
	}}
}

func reduces(name, mode, key string) ddlCommand {
	return ddlCommand{name: name, reads: true, cmd: func(db string) bson.D {
		return doc("mapReduce", "d", "map", "function() { emit("+key+", 1) }", "reduce",
			"function(k, v) { return v.length }",
			"out", doc(mode, "c", "db", db))
	}}
}

func indexes(name string, options ...any) ddlCommand {
	return onDB(name, "createIndexes", "c", "indexes",
		bson.A{doc(append([]any{"key", doc("b", 1), "name", "b"}, options...)...)})
}

// otherDB is the suffix for the name of a race's second database.
const otherDB = "_other"

// ddlCommands are the commands that change the catalog. Each pair of them is raced.
var ddlCommands = []ddlCommand{
	onDB("create", "create", "c"),
	onDB("create capped", "create", "c", "capped", true, "size", 4096),
	onDB("create time series", "create", "c", "timeseries", doc("timeField", "t")),
	onDB("create view", "create", "c", "viewOn", "d", "pipeline", bson.A{}),
	onDB("create view the other way", "create", "d", "viewOn", "c", "pipeline", bson.A{}),
	onDB("create clustered", "create", "c", "clusteredIndex", doc("key", doc("_id", 1), "unique", true)),
	onDB("create the other", "create", "d"),
	onDB("create the other as time series", "create", "d", "timeseries", doc("timeField", "t")),
	writes("insert", "insert", "c", "documents", bson.A{doc("_id", 100, "t", time.UnixMilli(0))}),
	writes("update", "update", "c", "updates",
		bson.A{doc("q", doc("_id", 101), "u", doc("$set", doc("a", 1)), "upsert", true)}),
	writes("findAndModify", "findAndModify", "c", "query", doc("_id", 102), "update",
		doc("$set", doc("a", 1)), "upsert", true),
	{name: "bulkWrite", on: "admin", makes: true, cmd: func(db string) bson.D {
		return doc("bulkWrite", 1, "ops", bson.A{doc("insert", 0, "document", doc("_id", 103))},
			"nsInfo", bson.A{doc("ns", db+".c")})
	}},
	onDB("drop", "drop", "c"),
	onDB("drop the other", "drop", "d"),
	onDB("drop system.views", "drop", "system.views"),
	onDB("dropDatabase", "dropDatabase", 1),
	{name: "dropDatabase of the other", on: otherDB, cmd: func(string) bson.D { return doc("dropDatabase", 1) }},
	renames("rename away", ".c", ".d", false),
	renames("rename over", ".c", ".d", true),
	renames("rename here", ".d", ".c", false),
	renames("rename here over", ".d", ".c", true),
	renames("rename to another database", ".c", otherDB+".e", false),
	renames("rename over in another database", ".c", otherDB+".e", true),
	renames("rename from another database", otherDB+".e", ".c", false),
	renames("rename over from another database", otherDB+".e", ".c", true),
	onDB("collMod validator", "collMod", "c", "validator", doc("z", doc("$exists", false))),
	onDB("collMod level", "collMod", "c", "validationLevel", "moderate"),
	onDB("collMod capped", "collMod", "c", "cappedSize", 8192),
	onDB("collMod time series", "collMod", "c", "timeseries", doc("granularity", "minutes")),
	onDB("collMod view", "collMod", "c", "viewOn", "d", "pipeline", bson.A{doc("$match", doc("b", 1))}),
	onDB("collMod index", "collMod", "c", "index", doc("name", "a", "hidden", true)),
	onDB("collMod index expiry", "collMod", "c", "index", doc("name", "a", "expireAfterSeconds", 1e6)),
	onDB("collMod index and action", "collMod", "c", "index",
		doc("name", "a", "hidden", true), "validationAction", "warn"),
	onDB("collMod prepareUnique", "collMod", "c", "index", doc("keyPattern", doc("a", 1), "prepareUnique", true)),
	indexes("createIndexes"),
	indexes("createIndexes unique", "unique", true),
	indexes("createIndexes of another name", "name", "b too"),
	onDB("dropIndexes", "dropIndexes", "c", "index", "*"),
	onDB("dropIndexes by name", "dropIndexes", "c", "index", "a"),
	onDB("convertToCapped", "convertToCapped", "c", "size", 4096),
	onDB("cloneCollectionAsCapped", "cloneCollectionAsCapped", "c", "toCollection", "d", "size", 4096),
	onDB("cloneCollectionAsCapped here", "cloneCollectionAsCapped", "d", "toCollection", "c", "size", 4096),
	pipes("$out", func(db string) bson.A { return bson.A{doc("$out", doc("db", db, "coll", "c"))} }),
	pipes("$out of a time series", func(db string) bson.A {
		out := doc("db", db, "coll", "c", "timeseries", doc("timeField", "t"))
		return bson.A{doc("$set", doc("t", time.UnixMilli(0))), doc("$out", out)}
	}),
	pipes("$merge", func(db string) bson.A { // only one document, because several documents are written one by one
		return bson.A{doc("$match", doc("_id", 0)), doc("$merge", doc("into", doc("db", db, "coll", "c")))}
	}),
	reduces("mapReduce", "replace", "this.b"),
	reduces("mapReduce that merges", "merge", "1"),
	{
		name: "transaction", cmd: func(string) bson.D { return doc("create", "c") },
		transaction: []bson.D{doc("createIndexes", "c", "indexes", bson.A{doc("key", doc("b", 1), "name", "b")})},
	},
	{name: "import", makes: true, client: func(db *mongo.Database) string { return imports(db) }},
	{name: "import that replaces", makes: true, client: func(db *mongo.Database) string { return imports(db, "_id") }},
	{name: "reIndex", standalone: true, cmd: func(string) bson.D { return doc("reIndex", "c") }},
}

// notDDL are the commands with a write concern that do not change the catalog. They are not raced,
// each for the given reason.
var notDDL = map[string]string{
	"commitTransaction":              "the pair of a transaction commits with it",
	"abortTransaction":               "publishes nothing",
	"coordinateCommitTransaction":    "of a sharded cluster",
	"setFeatureCompatibilityVersion": "a setting",
	"setDefaultRWConcern":            "a setting",
	"setClusterParameter":            "a setting",
	"appendOplogNote":                "writes to the oplog only",
	"delete":                         "makes no collection",
}

// imports imports a document into c as the command import does, and returns the result. Several
// documents would be several steps.
func imports(db *mongo.Database, upsert ...string) string {
	lines := strings.NewReader(`{"_id": 3, "b": 1, "t": {"$date": 0}}`)
	if len(upsert) == 0 {
		lines = strings.NewReader(`{"_id": 104, "b": 1, "t": {"$date": 0}}`)
	}
	in, err := transfer.NewReader(lines, transfer.JSON, transfer.ReaderOptions{})
	if err != nil {
		return err.Error()
	}
	im := transfer.Importer{Collection: db.Collection("c"), UpsertFields: upsert}
	res, err := im.Run(context.Background(), in)
	if err != nil {
		return answerOf(nil, err)
	}
	return fmt.Sprint("imported ", res)
}

// TestEachDDLCommandIsRaced fails if a command or a stage that can change the catalog is not in
// ddlCommands.
func TestEachDDLCommandIsRaced(t *testing.T) {
	t.Parallel()
	raced := map[string]bool{}
	for _, c := range ddlCommands {
		if c.client != nil {
			continue
		}
		cmd := c.cmd("db")
		raced[cmd[0].Key] = true
		if cmd[0].Key == "aggregate" {
			stages := cmd[1].Value.(bson.A)
			raced[stages[len(stages)-1].(bson.D)[0].Key] = true
		}
	}
	for _, d := range commands.Definitions() {
		if d.Writes == feature.Yes && d.Status == feature.Supported && !raced[d.Name] && notDDL[d.Name] == "" {
			t.Errorf("the command %s is in no race, and not in notDDL", d.Name)
		}
	}
	for _, stage := range pipeline.Stages() {
		if pipeline.Writes(stage.Name) && !raced[stage.Name] {
			t.Errorf("the stage %s is in no race", stage.Name)
		}
	}
}

// run runs a command and returns the result: ok, or a code.
func (c *ddlCommand) run(db *mongo.Database) string {
	switch {
	case c.transaction != nil:
		return c.transact(db)
	case c.client != nil:
		return c.client(db)
	}
	target := db
	switch c.on {
	case "":
	case otherDB:
		target = db.Client().Database(db.Name() + otherDB)
	default:
		target = db.Client().Database(c.on)
	}
	return answerOf(target.RunCommand(context.Background(), c.cmd(db.Name())).Raw())
}

// transact runs cmd and the commands in transaction as one transaction, and repeats it if the
// server asks for that.
func (c *ddlCommand) transact(db *mongo.Database) string {
	session, err := db.Client().StartSession()
	if err != nil {
		return err.Error()
	}
	defer session.EndSession(context.Background())
	_, err = session.WithTransaction(context.Background(), func(ctx context.Context) (any, error) {
		for _, cmd := range append([]bson.D{c.cmd(db.Name())}, c.transaction...) {
			if err := db.RunCommand(ctx, cmd).Err(); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return answerOf(nil, err)
}

func answerOf(raw bson.Raw, err error) string {
	var refused mongo.CommandError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprint(refused.Code)
	case err != nil:
		return err.Error()
	}
	if v, err := raw.LookupErr("writeErrors", "0", "code"); err == nil {
		return "write error " + v.String()
	}
	if n, ok := raw.Lookup("nErrors").AsInt64OK(); ok && n > 0 {
		return "write error"
	}
	return "ok"
}

// aborted returns "aborted" for an error of a command whose collection was dropped or changed while
// it ran: 276 IndexBuildAborted, 117 ConflictingOperationInProgress, 125 CommandFailed of $out. It
// returns any other answer unchanged.
func aborted(answer string) string {
	if slices.Contains([]string{"276", "117", "125"}, answer) {
		return "aborted"
	}
	return answer
}
