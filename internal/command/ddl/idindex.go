package ddl

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// shownOptions returns the options that listCollections shows under "options".
func shownOptions(options bsonx.Doc) bsonx.Doc {
	if options.Lookup("idIndex").IsMissing() {
		return options
	}
	return options.Without("idIndex")
}

// checkIDIndex checks create's option idIndex.
func checkIDIndex(req *command.Request) error {
	v := req.Get("idIndex")
	if v.IsMissing() {
		return nil
	}
	if req.Has("viewOn") {
		return mongoerr.New(mongoerr.InvalidOptions, "'idIndex' is not allowed with 'viewOn': %s", bsonx.FormatShell(v))
	}
	if req.Has("timeseries") {
		return notWithSeries(req, "idIndex")
	}
	s, err := parseIDIndex(v.Doc())
	if err != nil {
		return err
	}
	whole, err := createCollation(req)
	if err != nil {
		return err
	}
	want, err := collationOption(whole)
	if err != nil {
		return err
	}
	if !s.collation.IsMissing() && !want.Same(s.collator) {
		return mongoerr.New(mongoerr.BadValue, "'idIndex' must have the same collation as the collection.")
	}
	return nil
}

// idIndex is a parsed specification of the _id index.
type idIndex struct {
	collation bsonx.Value
	collator  *collation.Collator
}

func parseIDIndex(spec bsonx.Doc) (*idIndex, error) {
	s := &indexSpec{raw: spec}
	for it := spec.Iter(); it.Next(); {
		if err := s.option(string(it.Key()), it.Value()); err != nil {
			return nil, err
		}
	}
	switch {
	case s.key == nil:
		return nil, mongoerr.New(mongoerr.FailedToParse, "The 'key' field is a required property of an index specification")
	case spec.Lookup("name").IsMissing():
		return nil, mongoerr.New(mongoerr.FailedToParse, "The 'name' field is a required property of an index specification")
	case !s.key.Equal(command.IDIndexSpec.Lookup("key").Doc()) && !sameIDKey(s.key):
		return nil, mongoerr.New(mongoerr.BadValue, "The field 'key' for an _id index must be {_id: 1}, but got %s", bsonx.FormatShell(bsonx.Document(s.key)))
	}
	if err := onlyFields(completeSpec(spec), "an _id", idFields); err != nil {
		return nil, err
	}
	co, err := collationOption(spec.Lookup("collation"))
	return &idIndex{collation: spec.Lookup("collation"), collator: co}, err
}

// checkIDCollation returns an error if the specification of an _id index has a collation that
// differs from the default collation of its collection.
func (s *indexSpec) checkIDCollation(of *collation.Collator) error {
	if s.clustered || s.collation.IsMissing() {
		return nil
	}
	own, err := collationOption(s.collation)
	if err != nil || own.Same(of) {
		return err
	}
	wanted := bsonx.NewDoc("locale", "simple")
	if of != nil {
		wanted = of.Spec()
	}
	return mongoerr.New(mongoerr.BadValue,
		"The _id index must have the same collation as the collection. Index collation: %s, collection collation: %s",
		bsonx.FormatShell(s.collation), bsonx.FormatShell(bsonx.Document(wanted)))
}

// sameIDKey reports whether a key pattern is {_id: 1}, with any numeric type.
func sameIDKey(key bsonx.Doc) bool {
	n, ok := key.Lookup("_id").AsExactInt64()
	return key.Len() == 1 && ok && n == 1
}

// collationOption parses a collation. It returns nil for the simple collation and for a value that
// is not a document.
func collationOption(v bsonx.Value) (*collation.Collator, error) {
	if v.Type != bsonx.TypeDocument {
		return nil, nil
	}
	return collation.Parse(v.Doc())
}

// checkSystemCollection returns an error if create's options are not allowed for a system
// collection of this name.
func checkSystemCollection(req *command.Request, name string) error {
	if !catalog.IsSystem(name) {
		return nil
	}
	view, series := req.Has("viewOn"), req.Has("timeseries")
	switch {
	case name == "system.profile" && view:
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot create system.profile as a view")
	case name == "system.profile" && series:
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot create system.profile as a timeseries collection")
	case view && catalog.CheckNewCollection(req.DB, name) == nil:
		return mongoerr.New(mongoerr.InvalidNamespace, "View name cannot start with 'system.', which is reserved for system namespaces")
	case name == catalog.Views && len(req.Args()) > 0:
		return mongoerr.New(mongoerr.InvalidOptions, "The collection %s.%s has no options", req.DB, name)
	}
	return nil
}
