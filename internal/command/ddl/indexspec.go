package ddl

import (
	"math"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/describe"
)

// The error codes of MongoDB for index specifications.
const (
	codeUniqueImages          = mongoerr.Code(16764)
	codeTwoImages             = mongoerr.Code(31303)
	codeTwoWildcards          = mongoerr.Code(7246201)
	codeWildcardOverlap       = mongoerr.Code(7246204)
	codeExpressionInIndexSpec = mongoerr.Code(51271)
	codePositionalInIndexSpec = mongoerr.Code(31324)
)

// indexSpec is a checked index specification of createIndexes.
type indexSpec struct {
	raw       bsonx.Doc // as the client sent it
	name      string
	version   int32
	key       bsonx.Doc
	partial   bsonx.Doc
	filter    *filter.Filter // parsed form of partial
	ttl       bsonx.Value
	unique    bool
	sparse    bool
	hidden    bool
	clustered bool
	wildcard  bool
	images    int    // number of fields that hold images of values, such as hashes
	imageType string // the index type of the fields with images
	// text holds the options that only text indexes have, including defaults.
	text bsonx.Doc
	// collation is normalised. It is missing if the specification has none, which means the default
	// collation of the collection.
	collation bsonx.Value
}

// cannotCreate returns an error with the code CannotCreateIndex, the usual one for invalid
// specifications.
func cannotCreate(format string, args ...any) error {
	return mongoerr.New(mongoerr.CannotCreateIndex, format, args...)
}

// parseIndexSpec parses and checks one index specification. As in MongoDB, some errors show the
// specification as it was sent, some with the default version, and some not at all.
func parseIndexSpec(doc bsonx.Doc) (*indexSpec, error) {
	s := &indexSpec{raw: doc, version: 2}
	if err := s.readFields(); err != nil {
		return nil, inSpecification(err, doc)
	}
	if err := s.checkAlone(); err != nil {
		return nil, err
	}
	if err := s.complete(); err != nil {
		return nil, inSpecification(err, completeSpec(doc))
	}
	return s, checkTTLIndex(s)
}

// inSpecification adds the specification to an error.
func inSpecification(err error, spec bsonx.Doc) error {
	return command.PrefixError(err, "Error in specification %s :: caused by :: ",
		bsonx.FormatShell(bsonx.Document(spec)))
}

// readFields checks each field of the specification, and the key pattern.
func (s *indexSpec) readFields() error {
	if err := s.checkClusteredFields(); err != nil {
		return err
	}
	for it := s.raw.Iter(); it.Next(); {
		if err := s.option(string(it.Key()), it.Value()); err != nil {
			return err
		}
	}
	if s.key == nil {
		return mongoerr.New(mongoerr.FailedToParse, "The 'key' field is a required property of an index specification")
	}
	if s.raw.Lookup("name").IsMissing() {
		return mongoerr.New(mongoerr.FailedToParse, "The 'name' field is a required property of an index specification")
	}
	for _, check := range []func() error{
		s.checkKey, s.checkWildcardProjection, s.checkWeights, s.checkVersion,
		s.checkOriginal, s.checkUnique, s.checkKinds,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkAlone runs the checks whose errors do not show the specification.
func (s *indexSpec) checkAlone() error {
	if err := s.checkID(); err != nil {
		return err
	}
	if s.name == "*" {
		return mongoerr.New(mongoerr.BadValue, "The index name '*' is not valid.")
	}
	return s.checkColumnstore()
}

// complete runs the checks that need the whole specification, and sets the defaults of a text
// index.
func (s *indexSpec) complete() error {
	for _, check := range []func() error{s.checkName, s.checkEngine, s.checkPartial, s.checkSphereVersion} {
		if err := check(); err != nil {
			return err
		}
	}
	if index.Has(s.key, index.Text) {
		if err := s.completeText(); err != nil {
			return err
		}
	}
	return s.checkOptions()
}

// checkName returns an error if the name of the index is empty or has a NUL byte.
func (s *indexSpec) checkName() error {
	switch {
	case s.name == "":
		return cannotCreate("index name cannot be empty")
	case strings.Contains(s.name, "\x00"):
		return cannotCreate("index name cannot contain NUL bytes")
	default:
		return nil
	}
}

// checkUnique returns an error for options that contradict unique, and for a clustered index that
// is not unique.
func (s *indexSpec) checkUnique() error {
	switch {
	case s.clustered && !s.unique:
		return cannotCreate("The 'unique' field is required when 'clustered' is specified")
	case s.unique && s.raw.Lookup("prepareUnique").Truthy():
		return cannotCreate("Invalid index specification %s; cannot create an index with the 'unique' option and the 'prepareUnique' option",
			bsonx.FormatShell(bsonx.Document(s.raw)))
	default:
		return nil
	}
}

// checkVersion returns an error if an index of version 1 has a collation.
func (s *indexSpec) checkVersion() error {
	if s.version != 1 || s.raw.Lookup("collation").IsMissing() {
		return nil
	}
	return cannotCreate("Invalid index specification %s; cannot create an index with the 'collation' option and v=1", bsonx.FormatShell(bsonx.Document(s.raw)))
}

func (s *indexSpec) option(name string, v bsonx.Value) error {
	want, known := indexOptions[name]
	if !known {
		return mongoerr.New(mongoerr.InvalidIndexSpecificationOption,
			"The field '%s' is not valid for an index specification. Specification: %s", name, bsonx.FormatShell(bsonx.Document(s.raw)))
	}
	if !want.Accepts(v.Type) {
		return wrongOption(name, want, v)
	}
	switch name {
	case "key":
		s.key = v.Doc()
	case "name":
		s.name = v.Str()
	case "unique":
		s.unique = v.Truthy()
	case "sparse":
		s.sparse = v.Truthy()
	case "hidden":
		s.hidden = v.Truthy()
	case "expireAfterSeconds":
		s.ttl = v
	case "partialFilterExpression":
		s.partial = v.Doc()
		var err error
		s.filter, err = filter.Parse(s.partial, filter.Options{})
		return err
	case "collation":
		if v.Doc().IsEmpty() {
			return mongoerr.New(mongoerr.BadValue, "The field 'collation' cannot be an empty object.")
		}
	case "v":
		return s.readVersion(v)
	case "clustered":
		s.clustered = v.Truthy()
		if !s.clustered {
			return mongoerr.New(codeClusteredFalse, "Value 'false' for field 'clustered' is invalid")
		}
	}
	return nil
}

// checkKey checks the key pattern and sets wildcard, images and imageType.
func (s *indexSpec) checkKey() error {
	n := s.key.Len()
	switch {
	case n == 0:
		return cannotCreate("Index keys cannot be empty.")
	case n > limits.IndexFields:
		return cannotCreate("Index key pattern has %d fields; the limit is %d", n, limits.IndexFields)
	}
	wildcards, images := 0, 0
	for it := s.key.Iter(); it.Next(); {
		path := string(it.Key())
		if err := checkDirection(path, it.Value()); err != nil {
			return err
		}
		kind := index.FieldKind(path, it.Value())
		def := kind.Definition()
		allPaths := path == "$**" || strings.HasSuffix(path, ".$**")
		if allPaths && kind != index.Wildcard && def.AllPaths != feature.Yes {
			return cannotCreate("Index key contains an illegal field name: field name starts with '$'.")
		}
		if err := checkIndexPath(path, kind); err != nil {
			return err
		}
		switch {
		case kind == index.Wildcard:
			wildcards++
		case def.Image != nil:
			images++
			s.imageType = def.Name
		}
	}
	s.wildcard, s.images = wildcards > 0, images
	switch {
	case wildcards > 1:
		return mongoerr.New(codeTwoWildcards, "Index Key can contain only one wildcard index field")
	case s.wildcard && images > 0:
		return cannotCreate("Can't use more than one index plugin for a single index.")
	}
	if s.wildcard {
		return s.checkWildcardOverlap()
	}
	return nil
}

// checkDirection returns an error for a value in a key pattern that is neither a direction nor the
// name of an index type.
func checkDirection(path string, v bsonx.Value) error {
	switch {
	case v.Type == bsonx.TypeString:
		switch kind := v.Str(); {
		case kind == "":
			return cannotCreate("Values in the index key pattern cannot be empty strings")
		case kind == columnstore && path != "$**": // checkColumnstore refuses it
		case kind == "geoHaystack":
			return cannotCreate("GeoHaystack indexes cannot be created in version 5.0 and above")
		case index.Named(kind) == nil:
			return cannotCreate("Unknown index plugin '%s'", kind)
		}
		return nil
	case v.Type.IsNumber():
		f, _ := v.AsFloat64()
		if math.IsNaN(f) {
			return cannotCreate("Values in the index key pattern cannot be NaN.")
		}
		if f == 0 {
			return cannotCreate("Values in the index key pattern cannot be 0.")
		}
		return nil
	default:
		return cannotCreate("Values in v:2 index key pattern cannot be of type %s. Only numbers > 0, numbers < 0, and strings are allowed.", v.Type)
	}
}

// checkIndexPath returns an error for a field path that no index can have.
func checkIndexPath(path string, kind index.Kind) error {
	if path == index.TextField {
		if kind == index.Text {
			return nil
		}
		return cannotCreate("Index key contains an illegal field name: '%s'", path)
	}
	parts := strings.Split(path, ".")
	for i, part := range parts {
		switch {
		case path == "":
			return cannotCreate("Index keys cannot be an empty field.")
		case part == "":
			return cannotCreate("Index keys cannot contain an empty field.")
		case part == "$**" && i == len(parts)-1:
		case strings.HasPrefix(part, "$") && !(i > 0 && bsonx.IsReferenceField(part)):
			return cannotCreate("Index key contains an illegal field name: field name starts with '$'.")
		}
	}
	return nil
}

func (s *indexSpec) checkWildcardOverlap() error {
	prefix := ""
	for it := s.key.Iter(); it.Next(); {
		if p, ok := strings.CutSuffix(string(it.Key()), "$**"); ok {
			prefix = p
		}
	}
	if prefix == "" {
		if s.key.Len() > 1 && s.raw.Lookup("wildcardProjection").IsMissing() {
			return cannotCreate("Compound wildcard indexes on all fields must also specify 'wildcardProjection' option")
		}
		return nil
	}
	for it := s.key.Iter(); it.Next(); {
		path := string(it.Key())
		if !strings.HasSuffix(path, "$**") && strings.HasPrefix(path+".", prefix) {
			return mongoerr.New(codeWildcardOverlap, "A wildcard index field should not overlap with and index key fields if wildcard projection is empty, "+
				"however '%s' is overlapping with the wildcard index field.", path)
		}
	}
	return nil
}

// checkOptions returns an error for options that contradict each other.
func (s *indexSpec) checkOptions() error {
	if err := s.checkWildcardOptions(); err != nil {
		return err
	}
	if s.sparse && s.partial != nil {
		return cannotCreate("cannot mix \"partialFilterExpression\" and \"sparse\" options")
	}
	return nil
}

// checkBuild runs the checks that MongoDB runs when it builds the index.
func (s *indexSpec) checkBuild() error {
	if err := s.checkGeo(); err != nil {
		return err
	}
	switch {
	case s.images > 1:
		return mongoerr.New(codeTwoImages, "A maximum of one index field is allowed to be %s but found %d for 'key' %s",
			s.imageType, s.images, bsonx.FormatShell(bsonx.Document(s.key)))
	case s.images > 0 && s.unique && !s.clustered:
		return mongoerr.New(codeUniqueImages, "Currently %s indexes cannot guarantee uniqueness. Use a regular index.", s.imageType)
	default:
		return nil
	}
}

// isID reports whether the key is {_id: 1} or {_id: -1}. It ignores fractions of the number.
func (s *indexSpec) isID() bool {
	first := s.key.First()
	f, ok := first.Value.AsFloat64()
	return ok && s.key.Len() == 1 && string(first.Key) == "_id" && math.Abs(math.Trunc(f)) == 1
}

// checkID checks the specification of an _id index, and refuses the name "_id_" for any other
// index.
func (s *indexSpec) checkID() error {
	switch {
	case s.isID() && !s.clustered:
		return s.checkIDIndex()
	case s.name == "_id_" && !s.isID():
		return mongoerr.New(mongoerr.BadValue, "The index name '_id_' is reserved for the _id index, which must have key pattern {_id: 1}, found key: %s",
			bsonx.FormatShell(bsonx.Document(s.key)))
	default:
		return nil
	}
}

// checkIDIndex checks the specification of an _id index, which every collection already has.
func (s *indexSpec) checkIDIndex() error {
	if err := onlyFields(completeSpec(s.raw), "an _id", idFields); err != nil {
		return err
	}
	if !sameKeyPattern(s.key, command.IDIndexSpec.Lookup("key").Doc()) {
		return mongoerr.New(mongoerr.BadValue, "The field 'key' for an _id index must be {_id: 1}, but got %s",
			bsonx.FormatShell(bsonx.Document(s.key)))
	}
	return nil
}

// checkPartial checks the filter of a partial index. It may only have predicates for which the
// planner can prove that a query implies them.
func (s *indexSpec) checkPartial() error {
	if s.partial == nil {
		return nil
	}
	return checkPartialNode(s.filter.Root, 0)
}

// checkPartialNode checks a node of the filter of a partial index. depth is the number of $and and
// $or around it.
func checkPartialNode(n filter.Node, depth int) error {
	if depth > limits.PartialFilterDepth {
		return cannotCreate("partialFilterExpression depth may not exceed %d", limits.PartialFilterDepth)
	}
	switch n := n.(type) {
	case *filter.And, *filter.Or:
		for _, child := range filter.Children(n) {
			if err := checkPartialNode(child, depth+1); err != nil {
				return err
			}
		}
		return nil
	case *filter.Compare, *filter.TypeOf, *filter.Exists, *filter.In, *filter.Geo:
		return nil
	case *filter.AlwaysFalse, *filter.AlwaysTrue, *filter.Bits, *filter.ElemMatchObject, *filter.ElemMatchValue,
		*filter.Expr, *filter.GeoNear, *filter.JSONSchema, *filter.Mod, *filter.Nor, *filter.Not, *filter.Regex,
		*filter.SampleRate, *filter.Size, *filter.Text, *filter.Where:
	}
	return cannotCreate("Expression not supported in partial index: %s", describe.Filter(n))
}

// collationIn returns the collation of the index in a collection with the default collation
// fallback, or a missing value for the simple collation. If fallback is not nil, the simple
// collation is returned explicitly.
func (s *indexSpec) collationIn(fallback *collation.Collator) bsonx.Value {
	switch {
	case s.collation.IsMissing() && fallback != nil:
		return bsonx.Document(fallback.Spec())
	case fallback == nil && s.collation.Type == bsonx.TypeDocument && s.collation.Doc().Len() == 1:
		return bsonx.Missing
	default:
		return s.collation
	}
}

// checkCollation returns an error if the index has a collation and its type does not support
// collations.
func (s *indexSpec) checkCollation(fallback *collation.Collator) error {
	v := s.collationIn(fallback)
	if v.IsMissing() || v.Doc().Len() == 1 {
		return nil
	}
	kind, found := index.Having(s.key, func(d *index.Definition) bool { return d.Collation != feature.Yes })
	if !found {
		return nil
	}
	err := cannotCreate("Index type '%s' does not support collation: %s", kind.Definition().Name, bsonx.FormatShell(v))
	return inSpecification(err, completeSpec(s.raw.Without("collation")).With("collation", v))
}

// stored returns the specification that the catalog stores, for a collection with the default
// collation fallback.
func (s *indexSpec) stored(fallback *collation.Collator) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Int32("v", s.version)
	b.Doc("key", s.key)
	b.String("name", s.name)
	for it := s.raw.Iter(); it.Next(); {
		switch name, v := string(it.Key()), it.Value(); name {
		case "key", "name", "v", "ns", "dropDups", "clustered", "collation":
		case "sparse", "background":
			b.Bool(name, v.Truthy())
		case "unique", "hidden", "prepareUnique":
			if v.Truthy() {
				b.Bool(name, true)
			}
		case "expireAfterSeconds":
			b.Int32(name, int32(bsonx.SaturatingInt64(v)))
		default:
			if s.text == nil || !slices.Contains(textOptions, name) {
				b.Value(name, v)
			}
		}
	}
	b.Fields(s.text)
	b.Value("collation", s.collationIn(fallback))
	for it := index.KindOf(s.key).Definition().Defaults.Iter(); it.Next(); {
		if name := string(it.Key()); s.raw.Lookup(name).IsMissing() {
			b.Value(name, it.Value())
		}
	}
	b.End()
	return b.Bytes()
}
