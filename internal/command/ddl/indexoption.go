package ddl

import (
	"maps"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/read"
)

// indexOptions maps the options of an index specification to the types that they accept.
var indexOptions = map[string]command.FieldType{
	"key": command.Object, "name": command.String, "v": command.SafeInt, "ns": command.Any,
	"unique": command.SafeBool, "sparse": command.SafeBool, "background": command.SafeBool, "hidden": command.Bool,
	"prepareUnique": command.SafeBool,
	"clustered":     command.SafeBool, "expireAfterSeconds": command.Any,
	"partialFilterExpression": command.Object, "collation": command.Object,
	"storageEngine": command.Any, "weights": command.OneOf(bsonx.TypeDocument, bsonx.TypeString, bsonx.TypeArray),
	"default_language": command.String, "language_override": command.String, "textIndexVersion": command.SafeInt,
	"2dsphereIndexVersion": command.SafeInt,
	"bits":                 command.SafeInt, "min": command.SafeInt, "max": command.SafeInt, "coarsestIndexedLevel": command.SafeInt,
	"finestIndexedLevel": command.SafeInt,
	"wildcardProjection": command.Any, "dropDups": command.SafeBool, "originalSpec": command.Object,
	"bucketSize": command.SafeInt,
}

// IndexOptions returns the names of the options of an index specification, sorted.
func IndexOptions() []string { return slices.Sorted(maps.Keys(indexOptions)) }

// wrongOption returns the error for an option whose value v does not have the type want.
func wrongOption(name string, want command.FieldType, v bsonx.Value) error {
	what := "an object"
	switch {
	case want.Is(command.SafeBool):
		return mongoerr.New(mongoerr.TypeMismatch, "The field '%s has value %s: %s, which is not convertible to bool", name, name, bsonx.FormatShell(v))
	case want.Is(command.Bool):
		what = "a bool"
	case want.Is(command.SafeInt):
		what = "a number"
	case want.Is(command.String):
		what = "a string"
	}
	return mongoerr.New(mongoerr.TypeMismatch, "The field '%s' must be %s, but got %s", name, what, v.Type)
}

// readVersion sets the version of the index. Indexes of version 1 and 2 are stored in the same way.
func (s *indexSpec) readVersion(v bsonx.Value) error {
	n, exact := v.AsExactInt64()
	if !exact || n != int64(int32(n)) {
		return mongoerr.New(mongoerr.BadValue, "Index version must be representable as a 32-bit integer, but got %s", bsonx.FormatShell(v))
	}
	if n != 1 && n != 2 {
		return cannotCreate("Invalid index specification %s; cannot create an index with v=%s", bsonx.FormatShell(bsonx.Document(s.raw)), bsonx.FormatShell(v))
	}
	s.version = int32(n)
	return nil
}

// checkEngine checks the options for storage engines.
func (s *indexSpec) checkEngine() error {
	v := s.raw.Lookup("storageEngine")
	switch {
	case v.IsMissing():
		return nil
	case v.Type != bsonx.TypeDocument:
		return cannotCreate("\"storageEngine\" options must be a document if present")
	case v.Doc().IsEmpty():
		return cannotCreate("Empty \"storageEngine\" options are invalid. Please remove the field or include valid options.")
	default:
		return checkStorageEngine(v)
	}
}

// clusteredFields and idFields are the options that a clustered index and an _id index can have.
var (
	clusteredFields = []string{"key", "name", "v", "unique", "clustered", "expireAfterSeconds"}
	idFields        = []string{"key", "name", "v", "ns", "collation"}
)

// checkClusteredFields returns an error if a specification with the option clustered has other
// options than a clustered index can have.
func (s *indexSpec) checkClusteredFields() error {
	if s.raw.Lookup("clustered").IsMissing() {
		return nil
	}
	return onlyFields(s.raw, "a clustered", clusteredFields)
}

// checkWeights returns an error if an index that is not a text index has weights.
func (s *indexSpec) checkWeights() error {
	if s.raw.Lookup("weights").IsMissing() || index.Has(s.key, index.Text) {
		return nil
	}
	return cannotCreate("Invalid index specification %s; the field 'weights' can only be specified with text indexes", bsonx.FormatShell(bsonx.Document(s.raw)))
}

// onlyFields returns an error if the specification has a field that is not in fields. kind names
// the type of index in the error.
func onlyFields(spec bsonx.Doc, kind string, fields []string) error {
	for it := spec.Iter(); it.Next(); {
		if name := string(it.Key()); !slices.Contains(fields, name) {
			return mongoerr.New(mongoerr.InvalidIndexSpecificationOption, "The field '%s' is not valid for %s index specification. Specification: %s",
				name, kind, bsonx.FormatShell(bsonx.Document(spec)))
		}
	}
	return nil
}

// completeSpec returns a specification with the default version if it has no version.
func completeSpec(spec bsonx.Doc) bsonx.Doc {
	if !spec.Lookup("v").IsMissing() {
		return spec
	}
	return spec.With("v", bsonx.Int32(2))
}

// checkOriginal checks originalSpec, the specification from which an index on buckets was made.
func (s *indexSpec) checkOriginal() error {
	v := s.raw.Lookup(command.OriginalSpec)
	switch {
	case v.IsMissing():
		return nil
	case v.Doc().IsEmpty():
		return mongoerr.New(mongoerr.BadValue, "The field 'originalSpec' cannot be an empty object.")
	default:
		return (&indexSpec{raw: v.Doc(), version: 2}).readFields()
	}
}

// readCollation parses the collation of the index.
func (s *indexSpec) readCollation() error {
	v := s.raw.Lookup("collation")
	if v.IsMissing() {
		return nil
	}
	var err error
	if s.collation, err = read.NormalizedCollation(v); err != nil {
		return command.PrefixError(err, "failed to add collation information to index spec for index creation: %s :: caused by :: ",
			bsonx.FormatShell(bsonx.Document(s.raw.With("v", bsonx.Int32(s.version)))))
	}
	return nil
}

// checkWildcardOptions returns an error if a wildcard index has an option that wildcard indexes do
// not support.
func (s *indexSpec) checkWildcardOptions() error {
	if !s.wildcard {
		return nil
	}
	option := ""
	switch {
	case s.sparse:
		option = "sparse"
	case s.unique:
		option = "unique"
	case !s.ttl.IsMissing():
		return errWildcardTTL
	case s.version == 1:
		return cannotCreate("Index type 'wildcard' is not allowed with index version v: 1")
	default:
		return nil
	}
	return cannotCreate("Index type 'wildcard' does not support the '%s' option", option)
}

var errWildcardTTL = cannotCreate("cannot make a TTL index :: caused by :: Index type 'wildcard' does not support the 'expireAfterSeconds' option")

func (s *indexSpec) checkWildcardProjection() error {
	v := s.raw.Lookup("wildcardProjection")
	if v.IsMissing() {
		return nil
	}
	rootWildcard := false
	for it := s.key.Iter(); it.Next(); {
		rootWildcard = rootWildcard || string(it.Key()) == "$**"
	}
	switch {
	case !s.wildcard:
		return mongoerr.New(mongoerr.BadValue, "The field 'wildcardProjection' is only allowed in 'wildcard' indexes")
	case v.Type != bsonx.TypeDocument:
		return mongoerr.New(mongoerr.TypeMismatch, "The field 'wildcardProjection' must be a non-empty object, but got %s", v.Type)
	case !rootWildcard:
		return mongoerr.New(mongoerr.FailedToParse, "The field 'wildcardProjection' is only allowed when 'key' is {\"$**\": ±1}")
	case v.Doc().IsEmpty():
		return mongoerr.New(mongoerr.FailedToParse, "The 'wildcardProjection' field can't be an empty object")
	}
	return command.PrefixError(checkProjection(v.Doc()), "Failed to parse projection: wildcardProjection :: caused by :: ")
}

// checkProjection checks a wildcardProjection, which may not contain expressions.
func checkProjection(doc bsonx.Doc) error {
	if err := checkPlain(doc); err != nil {
		return err
	}
	_, err := projection.Parse(doc, projection.Options{Vars: expressions.Scope()})
	return err
}

// computes reports whether a document in a projection is an expression and not a sub-document of
// fields.
func computes(d bsonx.Doc) bool {
	first := string(d.First().Key)
	return strings.HasPrefix(first, "$") && !projection.IsReference(first)
}

// checkPlain returns an error if a projection has computed fields or positional operators.
func checkPlain(doc bsonx.Doc) error {
	for it := doc.Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		switch {
		case v.Type == bsonx.TypeDocument && !computes(v.Doc()):
			if err := checkPlain(v.Doc()); err != nil {
				return err
			}
		case !v.Type.IsNumber() && v.Type != bsonx.TypeBool:
			return mongoerr.New(codeExpressionInIndexSpec, "Bad projection specification, cannot use computed fields when parsing a spec in kBanComputedFields mode")
		case strings.HasSuffix(name, ".$"):
			return mongoerr.New(codePositionalInIndexSpec, "Cannot use positional projection in aggregation projection")
		}
	}
	return nil
}
