package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// GeoNear is the $geoNear stage: it yields documents in the order of their distance from a point.
// Split takes it off the pipeline, because the planner runs it as a query.
type GeoNear struct {
	// Key is the path of the indexed geometries. If it is empty, the collection must have exactly
	// one geospatial index, which determines the path.
	Key string
	// Multiplier is the factor applied to the distances in the results.
	Multiplier float64

	near      expr.Expr
	bounds    [2]expr.Expr // $minDistance and $maxDistance; nil if absent
	query     bsonx.Doc
	spherical bool
	distance  []string // the path of the result field that gets the distance
	locations []string // the path of the result field that gets the geometry; nil if not wanted
	opts      parsing.Options
}

// boundNames lists the query operators for the elements of GeoNear.bounds.
var boundNames = [2]string{"$minDistance", "$maxDistance"}

func geoNearDefinition() parsing.Definition {
	properties := parsing.OfDocuments()
	properties.Input = parsing.FromCollection
	properties.Facets = feature.No
	return parsing.Definition{
		Name: "$geoNear", Parse: parseGeoNear,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: properties, Inside: insideGeoNear,
	}
}

func parseGeoNear(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument && arg.Type != bsonx.TypeArray {
		return nil, mongoerr.New(10065, "invalid parameter: expected an object ($geoNear)")
	}
	g := &GeoNear{Multiplier: 1, opts: opts}
	if err := checkRemoved(arg.Doc()); err != nil {
		return nil, err
	}
	for it := arg.Doc().Clone().Iter(); it.Next(); {
		if err := g.option(string(it.Key()), it.Value()); err != nil {
			return nil, err
		}
	}
	if g.near == nil {
		return nil, mongoerr.New(5860400, "$geoNear requires a 'near' argument")
	}
	if g.distance == nil {
		return nil, mongoerr.New(16605, "$geoNear requires a 'distanceField' option as a String")
	}
	return []parsing.Stage{g}, nil
}

// checkRemoved rejects options that only older versions of MongoDB have.
func checkRemoved(arg bsonx.Doc) error {
	for _, old := range []struct {
		name string
		err  *mongoerr.Error
	}{
		{"collation", mongoerr.New(40227, "$geoNear does not accept the 'collation' parameter. Instead, specify a collation for the "+
			"entire aggregation command.")},
		{"limit", mongoerr.New(50858, "$geoNear no longer supports the 'limit' parameter. Use a $limit stage instead.")},
		{"num", mongoerr.New(50857, "$geoNear no longer supports the 'num' parameter. Use a $limit stage instead.")},
		{"start", mongoerr.New(50856, "$geoNear no longer supports the 'start' argument.")},
	} {
		if !arg.Lookup(old.name).IsMissing() {
			return old.err
		}
	}
	return nil
}

// option sets one option from the specification.
func (g *GeoNear) option(name string, v bsonx.Value) (err error) {
	mismatch := func(want string) error {
		return mongoerr.New(mongoerr.TypeMismatch, "$geoNear parameter '%s' must be of type %s but found type: %s", name, want, v.Type)
	}
	switch name {
	case "near":
		g.near, err = expr.Parse(v, g.opts.Vars)
	case "minDistance":
		g.bounds[0], err = expr.Parse(v, g.opts.Vars)
	case "maxDistance":
		g.bounds[1], err = expr.Parse(v, g.opts.Vars)
	case "distanceField":
		g.distance, err = fieldOption(v, mongoerr.New(16606, "$geoNear requires that the 'distanceField' option is a String"))
	case "includeLocs":
		g.locations, err = fieldOption(v,
			mongoerr.New(16607, "$geoNear requires that 'includeLocs' option is a String"))
	case "distanceMultiplier":
		f, ok := v.AsFloat64()
		if !ok {
			return mongoerr.New(mongoerr.TypeMismatch, "distanceMultiplier must be a number")
		}
		if !(f >= 0) {
			return mongoerr.New(mongoerr.BadValue, "distanceMultiplier must be nonnegative")
		}
		g.Multiplier = f
	case "query":
		if v.Type != bsonx.TypeDocument {
			return mongoerr.New(mongoerr.TypeMismatch, "query must be an object")
		}
		g.query = v.Doc()
		_, err = parseFilter(&g.opts, g.query)
	case "spherical":
		if v.Type != bsonx.TypeBool && !v.Type.IsNumber() {
			return mismatch("bool")
		}
		g.spherical = v.Truthy()
	case "key":
		if v.Type != bsonx.TypeString {
			return mismatch("string")
		}
		if g.Key = v.Str(); g.Key == "" {
			return mongoerr.New(mongoerr.BadValue, "$geoNear parameter 'key' cannot be the empty string")
		}
	case "uniqueDocs":
	default:
		return mongoerr.New(mongoerr.BadValue, "Unknown argument to $geoNear: %s", name)
	}
	return err
}

// fieldOption parses an option that contains the path of a result field. wrongType is the error for
// a value that is not a string.
func fieldOption(v bsonx.Value, wrongType *mongoerr.Error) ([]string, error) {
	if v.Type != bsonx.TypeString {
		return nil, wrongType
	}
	return expr.SplitFieldPath(v.Str())
}

// Filter returns the query of the stage combined with a $near or $nearSphere predicate on the field
// key, which sorts by distance.
func (g *GeoNear) Filter(key string) (bsonx.Doc, error) {
	ctx := &expr.Context{Root: bsonx.Document(bsonx.Empty), Now: g.opts.Now}
	near, err := g.near.Eval(ctx)
	if err != nil {
		return nil, err
	}
	if near.Type != bsonx.TypeDocument && near.Type != bsonx.TypeArray {
		return nil, mongoerr.New(5860401, "$geoNear requires near argument to be an object or an array, found %s", near.Type)
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	operator := "$near"
	if g.spherical {
		operator = "$nearSphere"
	}
	b.Value(operator, near)
	for i, e := range g.bounds {
		if e == nil {
			continue
		}
		v, err := e.Eval(ctx)
		if err != nil {
			return nil, err
		}
		if !v.Type.IsNumber() {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "%s must be a number", boundNames[i][1:])
		}
		b.Value(boundNames[i], v)
	}
	b.End()
	search := bsonx.NewDoc(key, bsonx.Document(b.Bytes()))
	if len(g.query) == 0 || g.query.IsEmpty() {
		return search, nil
	}
	return bsonx.NewDoc("$and", bsonx.NewArray(bsonx.Document(g.query), bsonx.Document(search))), nil
}

// Locate appends to dst the result for doc: the document with the distance field and, if wanted,
// the geometry place.
func (g *GeoNear) Locate(dst []byte, doc bsonx.Doc, distance float64, place bsonx.Value) ([]byte, error) {
	out := document.SetPath(doc, g.distance, bsonx.Double(distance*g.Multiplier))
	if g.locations != nil {
		out = document.SetPath(out, g.locations, place)
	}
	return append(dst, out...), nil
}

// Open is called only for a pipeline that does not run over a collection. There is no index then,
// so Next fails.
func (*GeoNear) Open(src source.Source, _ *source.Env) source.Source {
	return &nowhere{source.Input{Src: src}}
}

type nowhere struct{ source.Input }

// Next implements source.Source.
func (*nowhere) Next(context.Context) (bsonx.Doc, error) {
	return nil, mongoerr.New(mongoerr.NoQueryExecutionPlans, "unable to find index for $geoNear query")
}

func insideGeoNear(arg bsonx.Value, w parsing.Walker) { w.Filter(parsing.Argument(arg, "query")) }

// Explain implements parsing.Stage.
func (*GeoNear) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	return x.AsWritten(), nil
}
