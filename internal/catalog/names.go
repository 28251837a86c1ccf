package catalog

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The limits of names, in bytes.
const (
	MaxDatabaseName = 63
	MaxNamespace    = 255
)

// CheckDatabaseName refuses names that a database cannot have.
func CheckDatabaseName(db string) error {
	switch {
	case db == "":
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified: database name is empty")
	case len(db) > MaxDatabaseName:
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: %s is longer than %d bytes", db, MaxDatabaseName)
	case strings.ContainsAny(db, "/\\. \"$\x00"):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", db)
	}
	return nil
}

// CheckCollectionName refuses names that a collection cannot have, whatever is done with it.
func CheckCollectionName(db, name string) error {
	switch {
	case name == "":
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s.'", db)
	case strings.HasPrefix(name, "."):
		return mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot start with '.': %s", name)
	case strings.HasSuffix(name, "."):
		return mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot end with '.': %s", name)
	case strings.ContainsAny(name, "\x00"):
		return mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot contain the null character")
	}
	return nil
}

// userSystemCollections are the names under "system." that users may write to.
var userSystemCollections = map[string]bool{
	"system.js": true, "system.views": false, "system.users": false, "system.profile": false,
}

// CheckNewCollection refuses names that a new collection cannot have.
func CheckNewCollection(db, name string) error {
	if err := CheckCollectionName(db, name); err != nil {
		return err
	}
	switch {
	case strings.Contains(name, "$"):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name: %s", name)
	case len(db)+1+len(name) > MaxNamespace:
		return mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s.%s Max: %d", db, name, MaxNamespace)
	case strings.HasPrefix(name, "system.") && !userSystemCollections[name]:
		return mongoerr.New(mongoerr.InvalidNamespace, "cannot write to '%s.%s'", db, name)
	}
	return nil
}

// CheckNewDatabase refuses a database whose name differs from an existing one's by case only.
func (c *Catalog) CheckNewDatabase(db string) error {
	for _, name := range c.Databases() {
		if name != db && strings.EqualFold(name, db) {
			return mongoerr.New(mongoerr.DatabaseDifferCase, "db already exists with different case already have: [%s] trying to create [%s]", name, db)
		}
	}
	return nil
}
