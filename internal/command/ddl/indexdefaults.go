package ddl

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const indexDefaults = "indexOptionDefaults"

// indexDefaultsFields are the fields of create's option indexOptionDefaults.
var indexDefaultsFields = []command.Field{{Name: "storageEngine", Type: command.Object}}

// storageEngines are the storage engines for which a client may send options: MongoDB's, which
// clients know, and Sheaf's own.
var storageEngines = []string{"wiredTiger", command.StorageEngineName}

// checkEngineOptions checks create's options for storage engines.
func checkEngineOptions(req *command.Request) error {
	if err := checkStorageEngine(req.Get("storageEngine")); err != nil {
		return err
	}
	defaults := req.Doc(indexDefaults)
	if defaults == nil {
		return nil
	}
	return command.ParseFields("create."+indexDefaults, defaults, indexDefaultsFields,
		func(_ int, v bsonx.Value) error {
			return checkStorageEngine(v)
		})
}

// checkStorageEngine returns an error for options of an unknown storage engine.
func checkStorageEngine(v bsonx.Value) error {
	if v.Type != bsonx.TypeDocument {
		return nil
	}
	for it := v.Doc().Iter(); it.Next(); {
		name := string(it.Key())
		if it.Value().Type != bsonx.TypeDocument {
			return mongoerr.New(mongoerr.BadValue, "'storageEngine.%s' has to be an embedded document.", name)
		}
		if !slices.Contains(storageEngines, name) {
			return mongoerr.New(mongoerr.InvalidOptions, "%s is not a registered storage engine for this server", name)
		}
		if err := checkConfigString(it.Value().Doc()); err != nil {
			return err
		}
	}
	return nil
}

// checkConfigString checks the options for one storage engine. Their only field is configString,
// whose text is ignored, because it has settings for MongoDB's storage engine.
func checkConfigString(options bsonx.Doc) error {
	const option = "configString"
	for it := options.Iter(); it.Next(); {
		if name := string(it.Key()); name != option {
			return mongoerr.New(mongoerr.InvalidOptions, "'%s' is not a supported option.", name)
		}
		if it.Value().Type != bsonx.TypeString {
			return mongoerr.New(mongoerr.TypeMismatch, "'%s' must be a string.", option)
		}
	}
	return nil
}
