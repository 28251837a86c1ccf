package command_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/argtest"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/sheaftest"
)

// uuidOfCollection returns the UUID of a collection.
func uuidOfCollection(t *testing.T, db *mongo.Database, name string) bson.Binary {
	t.Helper()
	specs, err := db.ListCollectionSpecifications(t.Context(), bson.D{{"name", name}})
	if err != nil || len(specs) != 1 || specs[0].UUID == nil {
		t.Fatalf("%s: %v, %v", name, specs, err)
	}
	return *specs[0].UUID
}

// TestCollectionUUID gives every command with the argument collectionUUID the UUID of another
// collection, and an unknown UUID.
func TestCollectionUUID(t *testing.T) {
	t.Parallel()
	bases, err := argtest.Bases()
	if err != nil {
		t.Fatal(err)
	}
	client := sheaftest.Open(t, &sheaf.Options{TestCommands: true}).Client()
	db := client.Database("args")
	for _, name := range []string{"c", "other"} {
		if _, err := db.Collection(name).InsertOne(t.Context(), bson.D{{"_id", 1}}); err != nil {
			t.Fatal(err)
		}
	}
	other := uuidOfCollection(t, db, "other")
	unknown := bson.Binary{Subtype: 4, Data: slices.Repeat([]byte{7}, 16)}
	var seen []string
	for _, d := range commands.Definitions() {
		i := slices.IndexFunc(bases, func(b argtest.Base) bool { return b.Name == d.Name })
		if i < 0 || !slices.ContainsFunc(d.Fields, func(f command.Field) bool { return f.Name == "collectionUUID" }) {
			continue
		}
		seen = append(seen, d.Name)
		for actual, id := range map[string]bson.Binary{"other": other, "": unknown} {
			cmd := argtest.Argument{Base: &bases[i], Path: "collectionUUID"}.With(id)
			raw, err := client.Database(bases[i].DB).RunCommand(t.Context(), cmd).Raw()
			checkMismatch(t, d.Name, raw, err, id, actual)
		}
	}
	want := "aggregate collMod createIndexes delete drop dropIndexes find insert renameCollection update"
	if got := strings.Join(slices.Sorted(slices.Values(seen)), " "); got != want {
		t.Errorf("commands with collectionUUID: %s, want %s", got, want)
	}
	own := uuidOfCollection(t, db, "c")
	if n, err := db.Collection("c").CountDocuments(t.Context(), bson.D{}); err != nil || n != 1 {
		t.Errorf("%d documents, %v", n, err)
	}
	insert := bson.D{{"insert", "c"}, {"documents", bson.A{bson.D{}}}, {"collectionUUID", own}}
	if err := db.RunCommand(t.Context(), insert).Err(); err != nil {
		t.Error(err)
	}
}

// checkMismatch expects the error CollectionUUIDMismatch of the command or of its first statement.
func checkMismatch(t *testing.T, name string, raw bson.Raw, err error, id bson.Binary, actual string) {
	t.Helper()
	var refused mongo.CommandError
	if errors.As(err, &refused) {
		raw = refused.Raw
	} else if doc, ok := raw.Lookup("writeErrors", "0").DocumentOK(); ok {
		raw = doc
	} else if doc, ok := raw.Lookup("cursor", "firstBatch", "0").DocumentOK(); ok {
		raw = doc
	}
	expected := "c"
	if name == "drop" {
		expected = "nothing"
	}
	got, _ := raw.Lookup("actualCollection").StringValueOK()
	_, data, _ := raw.Lookup("collectionUUID").BinaryOK()
	if code, _ := raw.Lookup("code").AsInt64OK(); code != 361 || got != actual || string(data) != string(id.Data) ||
		raw.Lookup("expectedCollection").StringValue() != expected || raw.Lookup("db").StringValue() != "args" {
		t.Errorf("%s with the UUID of %q: %v", name, actual, raw)
	}
}

// TestBulkWriteUUID checks a bulkWrite that has a namespace with and without a wrong UUID.
func TestBulkWriteUUID(t *testing.T) {
	t.Parallel()
	client := sheaftest.Open(t, nil).Client()
	db := client.Database("args")
	if err := db.CreateCollection(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	var reply struct {
		Cursor             struct{ FirstBatch []bson.Raw }
		NErrors, NInserted int
	}
	cmd := bson.D{
		{"bulkWrite", 1},
		{"ordered", false},
		{"ops", bson.A{
			bson.D{{"insert", 0}, {"document", bson.D{{"_id", 1}}}},
			bson.D{{"insert", 1}, {"document", bson.D{{"_id", 2}}}},
			bson.D{{"insert", 2}, {"document", bson.D{{"_id", 3}}}},
		}},
		{"nsInfo", bson.A{
			bson.D{{"ns", "args.c"}},
			bson.D{{"ns", "args.c"}, {"collectionUUID", bson.Binary{Subtype: 4, Data: make([]byte, 16)}}},
			bson.D{{"ns", "args.c"}, {"collectionUUID", uuidOfCollection(t, db, "c")}},
		}},
	}
	if err := client.Database("admin").RunCommand(t.Context(), cmd).Decode(&reply); err != nil {
		t.Fatal(err)
	}
	if reply.NErrors != 1 || reply.NInserted != 2 || reply.Cursor.FirstBatch[1].Lookup("code").Int32() != 361 {
		t.Errorf("%+v", reply)
	}
}

// TestByUUID checks commands with the UUID of a collection in place of its name.
func TestByUUID(t *testing.T) {
	t.Parallel()
	client := sheaftest.Open(t, nil).Client()
	db := client.Database("args")
	if _, err := db.Collection("c").InsertMany(t.Context(), []any{bson.D{{"a", 1}}, bson.D{{"a", 2}}}); err != nil {
		t.Fatal(err)
	}
	id := uuidOfCollection(t, db, "c")
	unknown := bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	defs := commands.Definitions()
	find := func(name string) *command.Definition {
		return &defs[slices.IndexFunc(defs, func(d command.Definition) bool { return d.Name == name })]
	}
	bases, err := argtest.Bases()
	if err != nil {
		t.Fatal(err)
	}
	for i := range bases {
		if bases[i].Skip != "" {
			continue
		}
		if v, ok := bases[i].Command[0].Value.(string); !ok || v != "c" && v != "d" ||
			strings.Contains(bases[i].Name, "/") {
			continue
		}
		for _, c := range []struct {
			db   string
			id   bson.Binary
			code int32
		}{{"args", id, 0}, {"elsewhere", id, 26}, {"args", unknown, 26}} {
			want := c.code
			switch d := find(bases[i].Name); {
			case len(d.CommandField.Types) > 0:
				want = 14
			case !d.ByUUID:
				want = 73
			}
			err := client.Database(c.db).RunCommand(t.Context(), argtest.Argument{Base: &bases[i]}.With(c.id)).Err()
			var refused mongo.CommandError
			if errors.As(err, &refused); refused.Code != want {
				t.Errorf("%s of %v in %s: %v, want %d", bases[i].Name, c.id, c.db, err, want)
			}
		}
	}
	for _, name := range []string{"find", "count", "distinct", "listIndexes"} {
		if !find(name).ByUUID {
			t.Errorf("%s takes no UUID", name)
		}
	}
	cursor, err := db.RunCommandCursor(t.Context(), bson.D{{"find", id}, {"batchSize", 1}})
	if err != nil {
		t.Fatal(err)
	}
	var docs []bson.D
	if err := cursor.All(t.Context(), &docs); err != nil || len(docs) != 2 {
		t.Errorf("%v, %v", docs, err)
	}
}

// TestCountersOfFailures checks that opcounters include writes that fail, but not writes that are
// not tried.
func TestCountersOfFailures(t *testing.T) {
	t.Parallel()
	client := sheaftest.Open(t, nil).Client()
	one := bson.D{{"_id", 1}}
	bad := bson.D{{"q", bson.D{}}, {"u", bson.D{{"$bad", 1}}}}
	badDelete := bson.D{{"q", bson.D{{"$bad", 1}}}, {"limit", 1}}
	insertOp := bson.D{{"insert", 0}, {"document", one}}
	updateOp := bson.D{{"update", 0}, {"filter", bson.D{{"_id", 9}}}, {"updateMods", bson.D{{"$set", one}}}}
	for _, c := range []struct {
		name                    string
		cmd                     bson.D
		insert, update, deletes int64
	}{
		{"ordered insert", bson.D{{"insert", "c"}, {"documents", bson.A{one, one, one}}}, 2, 0, 0},
		{"insert", bson.D{{"insert", "c"}, {"documents", bson.A{one, one, one}}, {"ordered", false}}, 3, 0, 0},
		{"ordered update", bson.D{{"update", "c"}, {"updates", bson.A{bad, bad}}}, 0, 1, 0},
		{"update", bson.D{{"update", "c"}, {"updates", bson.A{bad, bad}}, {"ordered", false}}, 0, 2, 0},
		{"ordered delete", bson.D{{"delete", "c"}, {"deletes", bson.A{badDelete, badDelete}}}, 0, 0, 1},
		{"bulkWrite", bson.D{
			{"bulkWrite", 1},
			{"ops", bson.A{updateOp, insertOp, insertOp}},
			{"nsInfo", bson.A{bson.D{{"ns", "args.c"}}}},
		}, 1, 1, 0},
	} {
		before := opcounters(t, client)
		db := "args"
		if c.name == "bulkWrite" {
			db = "admin"
		}
		_ = client.Database(db).RunCommand(t.Context(), c.cmd).Err()
		after := opcounters(t, client)
		got := [3]int64{after.Insert - before.Insert, after.Update - before.Update, after.Delete - before.Delete}
		if want := [3]int64{c.insert, c.update, c.deletes}; got != want {
			t.Errorf("%s: counted %v, want %v", c.name, got, want)
		}
	}
}

type counts struct{ Insert, Update, Delete int64 }

func opcounters(t *testing.T, client *mongo.Client) counts {
	t.Helper()
	var status struct{ Opcounters counts }
	if err := client.Database("admin").
		RunCommand(t.Context(), bson.D{{"serverStatus", 1}}).Decode(&status); err != nil {
		t.Fatal(err)
	}
	return status.Opcounters
}

// TestSessionsWithoutUsers checks that the sessions of clients without authentication are listed
// for the empty user.
func TestSessionsWithoutUsers(t *testing.T) {
	t.Parallel()
	client := sheaftest.Open(t, nil).Client()
	if err := client.Database("admin").RunCommand(t.Context(), bson.D{{"startSession", 1}}).Err(); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]bool{"": true, "someone": false} {
		users := bson.A{bson.D{{"user", user}, {"db", user}}}
		pipeline := bson.A{bson.D{{"$listLocalSessions", bson.D{{"users", users}}}}}
		cursor, err := client.Database("admin").Aggregate(t.Context(), pipeline)
		if err != nil {
			t.Fatal(err)
		}
		var docs []bson.D
		if err := cursor.All(t.Context(), &docs); err != nil || len(docs) > 0 != want {
			t.Errorf("user %q: %v, %v", user, docs, err)
		}
	}
}

// TestTemporaryRename checks that a rename drops the option temp unless stayTemp is set.
func TestTemporaryRename(t *testing.T) {
	t.Parallel()
	client := sheaftest.Open(t, nil).Client()
	db := client.Database("args")
	for name, stay := range map[string]any{"plain": nil, "stays": true, "not": false} {
		if err := db.RunCommand(t.Context(), bson.D{{"create", "t"}, {"temp", true}}).Err(); err != nil {
			t.Fatal(err)
		}
		cmd := bson.D{{"renameCollection", "args.t"}, {"to", "args." + name}, {"stayTemp", stay}}
		if err := client.Database("admin").RunCommand(t.Context(), cmd).Err(); err != nil {
			t.Fatal(err)
		}
		specs, err := db.ListCollectionSpecifications(t.Context(), bson.D{{"name", name}})
		if err != nil {
			t.Fatal(err)
		}
		if temp, _ := specs[0].Options.Lookup("temp").BooleanOK(); temp != (stay == true) {
			t.Errorf("%s: %v", name, specs[0].Options)
		}
	}
}
