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

// storageEngines are those whose options a client may send: the one that there is, and the one that MongoDB's clients know.
var storageEngines = []string{"wiredTiger", command.StorageEngineName}

// checkEngineOptions judges the options of create that are for storage engines.
func checkEngineOptions(req *command.Request) error {
	if err := checkStorageEngine(req.Get("storageEngine")); err != nil {
		return err
	}
	defaults := req.Doc(indexDefaults)
	if defaults == nil {
		return nil
	}
	return command.ParseFields("create."+indexDefaults, defaults, indexDefaultsFields, func(_ int, v bsonx.Value) error {
		return checkStorageEngine(v)
	})
}

// checkStorageEngine refuses options of a storage engine that the server does not have.
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

// checkConfigString judges the options for one storage engine. The settings in the text are those
// of an engine that the server does not have, and are not read.
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
