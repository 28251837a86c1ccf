package catalog

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// CheckDatabaseName returns an error if a database cannot have the name.
func CheckDatabaseName(db string) error {
	switch {
	case db == "":
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified: database name is empty")
	case len(db) > limits.DatabaseNameBytes:
		return mongoerr.New(mongoerr.InvalidNamespace,
			"Invalid database name: %s is longer than %d bytes", db, limits.DatabaseNameBytes)
	case strings.ContainsAny(db, "/\\. \"$\x00"):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", db)
	}
	return nil
}

// IsInternalDatabase reports whether a database belongs to the server: admin, config or local.
func IsInternalDatabase(db string) bool { return db == "admin" || db == "config" || db == "local" }

// CheckCollectionName returns an error if a collection cannot have the name. It applies to all
// commands.
func CheckCollectionName(db, name string) error {
	switch {
	case name == "":
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified: %s", db)
	case strings.HasPrefix(name, "."):
		return mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot start with '.': %s", name)
	case strings.IndexByte(name, 0) >= 0:
		return mongoerr.New(mongoerr.InvalidNamespace, "namespaces cannot have embedded null characters")
	}
	return nil
}

// ParseNamespace splits "db.collection". It returns an error if a part can never be valid. valid is
// false if the database or the collection is missing or has characters that databases cannot have.
// Each command has its own message for this case.
func ParseNamespace(ns string) (db, name string, valid bool, err error) {
	db, name, _ = strings.Cut(ns, ".")
	switch {
	case strings.IndexByte(db, 0) >= 0:
		return db, name, false,
			mongoerr.New(mongoerr.InvalidNamespace, "namespace cannot have embedded null characters")
	case len(db) > limits.DatabaseNameBytes:
		return db, name, false,
			mongoerr.New(mongoerr.InvalidNamespace, "db name must be at most %d characters, found: %d",
				limits.DatabaseNameBytes, len(db))
	case db == "" || name == "" || strings.ContainsAny(db, "/\\ \""):
		return db, name, false, nil
	}
	return db, name, true, CheckCollectionName(db, name)
}

// Views is the name of the collection with one document for each view of its database. Package
// schema writes these documents.
const Views = "system.views"

// IsSystem reports whether a name is reserved for the server.
func IsSystem(name string) bool { return strings.HasPrefix(name, "system.") }

// userSystemCollections are the names under "system." that users may create. Users may write to a
// collection whose value is true.
var userSystemCollections = map[string]bool{
	"system.js": true, Views: false, "system.users": true, "system.profile": false,
}

// CheckWrite returns an error if users cannot write to a collection with this name.
func CheckWrite(db, name string) error {
	if writable, ok := userSystemCollections[name]; ok && !writable {
		return mongoerr.New(mongoerr.InvalidNamespace, "cannot write to %s.%s", db, name)
	}
	return CheckNewCollection(db, name)
}

// CheckNewCollection returns an error if a new collection cannot have the name.
func CheckNewCollection(db, name string) error {
	if err := CheckCollectionName(db, name); err != nil {
		return err
	}
	switch {
	case strings.Contains(name, "$"):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name: %s", name)
	case len(db)+1+len(name) > limits.NamespaceBytes:
		return mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s.%s Max: %d", db, name, limits.NamespaceBytes)
	case IsSystem(name):
		if _, ok := userSystemCollections[name]; !ok {
			return mongoerr.New(mongoerr.InvalidNamespace, "Invalid system namespace: %s.%s", db, name)
		}
	case strings.Contains(name, ".system."):
		return mongoerr.New(mongoerr.BadValue, "Invalid namespace: %s.%s", db, name)
	}
	return nil
}

// CheckNewDatabase returns an error if the name of a database differs only by case from the name of
// an existing database.
func (c *Catalog[T]) CheckNewDatabase(db string) (err error) {
	tree, exists := c.published.Load(), false
	tree.Ascend(&item{db: db}, func(i *item) bool {
		exists = i.db == db
		return false
	})
	if exists {
		return nil // otherwise each new collection would require a scan of all entries
	}
	tree.Scan(func(i *item) bool {
		if strings.EqualFold(i.db, db) {
			err = mongoerr.New(mongoerr.DatabaseDifferCase, "db already exists with different case already have: [%s] trying to create [%s]", i.db, db)
		}
		return err == nil
	})
	return err
}
