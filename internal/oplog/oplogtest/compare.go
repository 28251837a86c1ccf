package oplogtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
)

// Check brings the replica up to date with the server's oplog, and compares the two: all
// collections with their options, indexes and documents. Nobody may write during the call.
func (r *Replica) Check(ctx context.Context, client *mongo.Client) error {
	if !r.events {
		if err := r.CatchUp(ctx, client); err != nil {
			return err
		}
	}
	dbs, err := client.ListDatabaseNames(ctx, bson.D{})
	if err != nil {
		return err
	}
	var differences []error
	seen := map[string]bool{}
	for _, db := range dbs {
		if db == oplog.DB {
			continue
		}
		names, err := r.compareDatabase(ctx, client.Database(db))
		differences = append(differences, err)
		for _, name := range names {
			seen[db+"."+name] = true
		}
	}
	for ns := range r.collections {
		if !seen[ns] {
			differences = append(differences, fmt.Errorf("%s is in the log only", ns))
		}
	}
	return errors.Join(differences...)
}

// compareDatabase returns the names of the database's collections, and how they differ.
func (r *Replica) compareDatabase(ctx context.Context, db *mongo.Database) (names []string, err error) {
	cursor, err := db.ListCollections(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	var infos []bson.Raw
	if err := cursor.All(ctx, &infos); err != nil {
		return nil, err
	}
	var differences []error
	for _, info := range infos {
		doc := bsonx.Doc(info)
		name := doc.Lookup("name").Str()
		if doc.Lookup("type").Str() == "collection" && doc.LookupPath("info", "readOnly").Truthy() {
			continue // shows the server's state, and is not in the oplog
		}
		names = append(names, name)
		c := r.collections[db.Name()+"."+name]
		switch kind := doc.Lookup("type").Str(); {
		case r.events && (kind == "timeseries" || strings.HasPrefix(name, bucketsPrefix)):
		case name == "system.views": // its documents are the views
		case kind == "timeseries": // its content is in the buckets
			c = r.collections[db.Name()+"."+bucketsPrefix+name]
			fallthrough
		case c == nil:
			if c == nil {
				differences = append(differences, fmt.Errorf("%s.%s is not in the log", db.Name(), name))
			}
		case !r.alike(c.options, doc.Lookup("options").Doc()):
			differences = append(differences,
				fmt.Errorf("%s.%s has the options\n     %v\nlog: %v", db.Name(), name,
					bson.Raw(doc.Lookup("options").Data), bson.Raw(c.options)))
		case kind == "view":
		default:
			differences = append(differences, r.compare(ctx, c, db.Collection(name), doc.LookupPath("info", "uuid")))
		}
	}
	return names, errors.Join(differences...)
}

// alike reports whether two documents are equal. For a mirror, it ignores the order of the fields,
// which events do not tell.
func (r *Replica) alike(a, b bsonx.Doc) bool {
	if !r.events || a == nil || b == nil {
		return a.Equal(b)
	}
	return sorted(bsonx.Document(a)).Doc().Equal(sorted(bsonx.Document(b)).Doc())
}

func (r *Replica) compare(ctx context.Context, c *collection, with *mongo.Collection, uuid bsonx.Value) error {
	name := with.Database().Name() + "." + with.Name()
	if !c.uuid.Identical(uuid) {
		return fmt.Errorf("%s has another UUID", name)
	}
	indexes, err := r.compareIndexes(ctx, c, with)
	if err != nil {
		return err
	}
	docs, err := with.Find(ctx, bson.D{})
	if err != nil {
		return err
	}
	byID, err := byKey(ctx, docs, keyOf)
	if err != nil {
		return err
	}
	return errors.Join(indexes, r.differ(name+" document", byID, c.docs))
}

// compareIndexes describes how the indexes differ. The indexes of buckets are shown only as indexes
// of their time series, so they are compared by name.
func (r *Replica) compareIndexes(ctx context.Context, c *collection, with *mongo.Collection) (difference, err error) {
	series, isBuckets := strings.CutPrefix(with.Name(), bucketsPrefix)
	if isBuckets {
		with = with.Database().Collection(series)
	}
	cursor, err := with.Indexes().List(ctx)
	if err != nil {
		return nil, err
	}
	specs, err := byKey(ctx, cursor, func(spec bsonx.Doc) string { return spec.Lookup("name").Str() })
	if err != nil {
		return nil, err
	}
	if !isBuckets {
		delete(specs, "_id_")
	}
	if clustered := c.options.LookupPath("clusteredIndex", "name"); !clustered.IsMissing() {
		delete(specs, clustered.Str())
	}
	logged := maps.Clone(c.indexes)
	if isBuckets {
		for name := range specs {
			if logged[name] != nil {
				logged[name] = specs[name]
			}
		}
	}
	return r.differ(with.Name()+" index", specs, logged), nil
}

const bucketsPrefix = "system.buckets."

func byKey(ctx context.Context, cursor *mongo.Cursor, key func(bsonx.Doc) string) (map[string]bsonx.Doc, error) {
	defer func() { _ = cursor.Close(ctx) }()
	docs := map[string]bsonx.Doc{}
	for cursor.Next(ctx) {
		doc := bsonx.Doc(cursor.Current).Clone()
		docs[key(doc)] = doc
	}
	return docs, cursor.Err()
}

// differ returns an error that describes the first difference between the server and the replica.
func (r *Replica) differ(what string, server, log map[string]bsonx.Doc) error {
	for _, key := range slices.Sorted(maps.Keys(server)) {
		if !r.alike(server[key], log[key]) {
			return fmt.Errorf("%s\n     %v\nlog: %v", what, bson.Raw(server[key]), bson.Raw(log[key]))
		}
	}
	for key, doc := range log {
		if server[key] == nil {
			return fmt.Errorf("%s in the log only: %v", what, bson.Raw(doc))
		}
	}
	return nil
}
