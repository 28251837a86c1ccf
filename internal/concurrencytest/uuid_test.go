package concurrencytest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/torture"
)

// withUUID returns the commands that identify the collection named c by collectionUUID.
func withUUID(id bson.Binary) map[string]bson.D {
	one := bson.A{doc("q", doc("a", 1), "u", doc("$set", doc("changed", true)), "multi", true)}
	return map[string]bson.D{
		"aggregate": doc("aggregate", "c", "pipeline", bson.A{doc("$sort", doc("a", 1))},
			"cursor", doc(), "collectionUUID", id),
		"collMod": doc("collMod", "c", "validationLevel", "moderate", "collectionUUID", id),
		"createIndexes": doc("createIndexes", "c", "indexes",
			bson.A{doc("key", doc("b", 1), "name", "b")}, "collectionUUID", id),
		"delete":      doc("delete", "c", "deletes", bson.A{doc("q", doc("a", 1), "limit", 0)}, "collectionUUID", id),
		"drop":        doc("drop", "c", "collectionUUID", id),
		"dropIndexes": doc("dropIndexes", "c", "index", "*", "collectionUUID", id),
		"find":        doc("find", "c", "collectionUUID", id),
		"insert":      doc("insert", "c", "documents", bson.A{doc("_id", 100)}, "collectionUUID", id),
		"update":      doc("update", "c", "updates", one, "collectionUUID", id),
		"bulkWrite": doc("bulkWrite", 1, "ops", bson.A{doc("insert", 0, "document", doc("_id", 103))},
			"nsInfo", bson.A{doc("ns", "uuids.c", "collectionUUID", id)}),
		"renameCollection": doc("renameCollection", "uuids.c", "to", "uuids.e", "collectionUUID", id),
	}
}

// TestUUIDBesideRename runs commands with the UUID of the collection c while c is renamed and
// another collection gets its name. The commands must not read or change the other collection.
func TestUUIDBesideRename(t *testing.T) {
	t.Parallel()
	db := openForDDL(t, false).client.Database("uuids")
	admin := db.Client().Database("admin")
	var names []string
	for name := range withUUID(bson.Binary{}) {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, d := range commands.Definitions() {
		if slices.ContainsFunc(d.Fields, func(f command.Field) bool { return f.Name == "collectionUUID" }) &&
			!slices.Contains(names, d.Name) {
			t.Errorf("no case for %s", d.Name)
		}
	}
	for run := torture.Begin(t); run.Next(10, time.Minute); {
		for _, name := range names {
			u := &uuidRace{
				t: t, db: db, admin: admin,
				delay: time.Duration(run.Rand(run.Rounds()).IntN(400)) * time.Microsecond,
			}
			u.run(name)
		}
	}
}

type uuidRace struct {
	t         *testing.T
	db, admin *mongo.Database
	delay     time.Duration
}

func (u *uuidRace) run(name string) {
	u.t.Helper()
	if err := errors.Join(u.db.Drop(context.Background()), fillForDDL(u.db, "c", "a"),
		fillForDDL(u.db, "d", "a")); err != nil {
		u.t.Fatal(err)
	}
	specs, err := u.db.ListCollectionSpecifications(context.Background(), doc("name", "c"))
	if err != nil || len(specs) != 1 {
		u.t.Fatal(specs, err)
	}
	cmd := withUUID(*specs[0].UUID)[name]
	before := u.other("d")
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, move := range []string{"c x", "d c"} {
			from, to, _ := strings.Cut(move, " ")
			rename := doc("renameCollection", "uuids."+from, "to", "uuids."+to)
			if err := u.admin.RunCommand(context.Background(), rename).
				Err(); err != nil && name != "drop" && name != "renameCollection" {
				u.t.Error(err)
			}
		}
	})
	time.Sleep(u.delay)
	on := u.db
	if name == "bulkWrite" || name == "renameCollection" {
		on = u.admin
	}
	reply, err := on.RunCommand(context.Background(), cmd).Raw()
	wg.Wait()
	if _, missing := reply.LookupErr("writeErrors"); missing == nil {
		err = nil // an error of a single statement
	}
	answer := answerOf(reply, err)
	if !slices.Contains([]string{"ok", "361", "276", "write error", `write error {"$numberInt":"361"}`}, answer) {
		u.t.Errorf("%s: %s %v", name, answer, reply)
	}
	if after := u.other("c"); after != before {
		u.t.Errorf("%s, which answered %s, changed the collection that has the name now from\n%s\nto\n%s", name, answer, before, after)
	}
	if batch, ok := reply.Lookup("cursor", "firstBatch").
		ArrayOK(); ok && strings.Contains(batch.String(), `"from": "d"`) {
		u.t.Errorf("%s read the other collection: %s", name, batch)
	}
}

// other describes the other collection, which now has the given name. The description omits the
// name.
func (u *uuidRace) other(name string) string {
	u.t.Helper()
	cursor, err := u.db.ListCollections(context.Background(), doc("name", name))
	if err != nil || !cursor.Next(context.Background()) {
		u.t.Fatal(name, err)
	}
	return strings.TrimPrefix(collectionState(u.t, u.db, cursor.Current), "uuids."+name)
}
