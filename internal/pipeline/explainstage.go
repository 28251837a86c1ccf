package pipeline

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/output"
	"github.com/sheafdb/sheaf/internal/pipeline/serverinfo"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
	"github.com/sheafdb/sheaf/internal/window"
)

// forms returns a stage in the form in which MongoDB's explain shows it, which may be several
// stages.
func (x *Explained) forms(ctx context.Context, s *explainedStage) ([]bsonx.Doc, error) {
	e := expr.Serializer{Vars: x.pipeline.opts.Vars, Now: x.pipeline.opts.Now}
	switch stage := s.Stage.(type) {
	case *foreign.Lookup:
		return x.lookupForm(ctx, stage, s.spec.Doc(), e)
	case *foreign.UnionWith:
		return x.unionForm(ctx, stage)
	case *facet:
		return x.facetForm(ctx, s, stage)
	case *output.Merge:
		return x.mergeForm(ctx, stage, e)
	case *count:
		grouped := bsonx.NewDoc("_id", e.Expression(bsonx.Null), stage.field,
			accumulator.Serialize(e, "$count", bsonx.Missing), "$willBeMerged", false)
		return []bsonx.Doc{
			bsonx.NewDoc("$group", grouped),
			bsonx.NewDoc("$project", bsonx.NewDoc(stage.field, true, "_id", false)),
		}, nil
	case *documents:
		return documentsForms(e.Expression(s.spec)), nil
	case *setWindowFields:
		return stage.forms(e), nil
	case *match:
		shown, err := filter.SerializeWithin(ctx, stage.filter.Normalize().Root)
		return []bsonx.Doc{bsonx.NewDoc("$match", shown)}, err
	default:
		return []bsonx.Doc{s.form(e)}, nil
	}
}

// form returns the explained form of a stage that MongoDB shows as one stage.
func (s *explainedStage) form(e expr.Serializer) bsonx.Doc {
	spec := s.spec.Doc()
	shown := s.Stage
	if a, ok := shown.(*absorbed); ok {
		shown = a.Stage
	}
	switch stage := shown.(type) {
	case *project:
		return bsonx.NewDoc(stage.shownName(s.name), stage.projection.Serialize(e))
	case *group:
		return bsonx.NewDoc("$group", stage.form(e))
	case *sort:
		if stage.limit > 0 {
			return bsonx.NewDoc("$sort", bsonx.NewDoc("sortKey", stage.shown, "limit", stage.limit))
		}
		return bsonx.NewDoc("$sort", bsonx.NewDoc("sortKey", stage.shown))
	case *limit:
		return bsonx.NewDoc("$limit", stage.n)
	case *skip:
		return bsonx.NewDoc("$skip", stage.n)
	case *sample:
		return bsonx.NewDoc("$sample", bsonx.NewDoc("size", stage.size))
	case *replaceRoot:
		newRoot := s.spec
		if s.name == "$replaceRoot" {
			newRoot = spec.Lookup("newRoot")
		}
		return bsonx.NewDoc("$replaceRoot", bsonx.NewDoc("newRoot", e.Expression(newRoot)))
	case *redact:
		return bsonx.NewDoc("$redact", e.Expression(s.spec))
	case *unwind.Stage:
		return bsonx.NewDoc("$unwind", unwindForm(s.spec))
	case *bucketAuto:
		return bsonx.NewDoc("$bucketAuto", bucketAutoForm(spec, e))
	case *foreign.GraphLookup:
		return bsonx.NewDoc("$graphLookup", ordered(spec, func(name string, v bsonx.Value) bsonx.Value {
			if name == "startWith" {
				return e.Expression(v)
			}
			return v
		}, "from", "as", "connectToField", "connectFromField", "startWith", "depthField",
			"maxDepth", "restrictSearchWithMatch"))
	case *densify:
		return bsonx.NewDoc("$_internalDensify", densifyForm(spec))
	case *output.Out:
		return bsonx.NewDoc("$out", bsonx.NewDoc("coll", stage.Coll, "db", stage.DB))
	case *serverinfo.Stage:
		if stage.Name == "$planCacheStats" {
			return bsonx.NewDoc(stage.Name, bsonx.NewDoc("allHosts", false))
		}
		return bsonx.NewDoc(stage.Name, stage.Arg)
	default:
		return bsonx.NewDoc(s.name, s.spec)
	}
}

// ordered returns the fields of spec that names lists, in the order of names. It replaces each
// value with the result of f.
func ordered(spec bsonx.Doc, f func(name string, v bsonx.Value) bsonx.Value, names ...string) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, name := range names {
		if v := spec.Lookup(name); !v.IsMissing() {
			b.Value(name, f(name, v))
		}
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

// asWritten is an argument for ordered that keeps values unchanged.
func asWritten(_ string, v bsonx.Value) bsonx.Value { return v }

// shownName returns the name of the stage in explain, given its written name. $unset appears as
// $project.
func (p *project) shownName(written string) string {
	switch {
	case !p.projection.IsAddition():
		return "$project"
	case written == "$set":
		return written
	default:
		return "$addFields"
	}
}

func (g *group) form(e expr.Serializer) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	if g.bucket != nil {
		b.Value("_id", g.bucket.form(g.id, e))
	} else {
		b.Value("_id", e.Expression(g.spec.Lookup("_id")))
	}
	for it := g.spec.Iter(); it.Next(); {
		if name := string(it.Key()); name != "_id" && !strings.HasPrefix(name, "$") {
			use := it.Value().Doc().First()
			b.Value(name, accumulator.Serialize(e, string(use.Key), use.Value))
		}
	}
	b.Bool("$willBeMerged", false)
	b.End()
	return bsonx.Doc(b.Bytes())
}

// unwindForm returns the explained form of $unwind without options that have their default value.
func unwindForm(spec bsonx.Value) bsonx.Doc {
	if spec.Type != bsonx.TypeDocument {
		return bsonx.NewDoc("path", spec)
	}
	names := []string{"path", "preserveNullAndEmptyArrays", "includeArrayIndex"}
	if !spec.Doc().Lookup(names[1]).Truthy() {
		names = []string{"path", "includeArrayIndex"}
	}
	return ordered(spec.Doc(), asWritten, names...)
}

func bucketAutoForm(spec bsonx.Doc, e expr.Serializer) bsonx.Doc {
	output := spec.Lookup("output")
	if output.Doc().IsEmpty() {
		output = bsonx.Document(bsonx.NewDoc("count", bsonx.NewDoc("$sum", 1)))
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Value("groupBy", e.Expression(spec.Lookup("groupBy")))
	b.Value("buckets", spec.Lookup("buckets"))
	b.Value("granularity", spec.Lookup("granularity"))
	b.StartDocField("output")
	for it := output.Doc().Iter(); it.Next(); {
		use := it.Value().Doc().First()
		b.ValueBytes(it.Key(), accumulator.Serialize(e, string(use.Key), use.Value))
	}
	b.End()
	b.End()
	return bsonx.Doc(b.Bytes())
}

func densifyForm(spec bsonx.Doc) bsonx.Doc {
	partitions := spec.Lookup("partitionByFields")
	if partitions.IsNull() {
		partitions = bsonx.NewArray()
	}
	return bsonx.NewDoc("field", spec.Lookup("field"), "partitionByFields", partitions,
		"range", ordered(spec.Lookup("range").Doc(), asWritten, "step", "bounds", "unit"))
}

// documentsForms returns the stages that MongoDB shows for $documents.
func documentsForms(array bsonx.Value) []bsonx.Doc {
	const field = "_tempDocumentsField"
	return []bsonx.Doc{
		bsonx.NewDoc("$queue", bsonx.NewArray(bsonx.Empty)),
		bsonx.NewDoc("$project", bsonx.NewDoc("_id", true, field, array)),
		bsonx.NewDoc("$unwind", bsonx.NewDoc("path", "$"+field)),
		bsonx.NewDoc("$replaceRoot", bsonx.NewDoc("newRoot", "$"+field)),
	}
}

// forms returns the explained form of $setWindowFields. If the partition is computed, a second
// stage follows that removes the helper field partitionField.
func (w *setWindowFields) forms(e expr.Serializer) []bsonx.Doc {
	partition, sortBy, output := w.spec[0], w.spec[1], w.spec[2]
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	switch {
	case w.computed:
		b.String("partitionBy", "$"+partitionField)
	case w.partition != nil:
		b.Value("partitionBy", e.Expression(partition))
	}
	if !sortBy.IsNull() {
		b.Value("sortBy", sortBy)
	}
	b.StartDocField("output")
	for it := output.Doc().Iter(); it.Next(); {
		b.Doc(string(it.Key()), window.Serialize(e, it.Value().Doc()))
	}
	b.End()
	b.End()
	docs := []bsonx.Doc{bsonx.NewDoc("$_internalSetWindowFields", bsonx.Doc(b.Bytes()))}
	if w.computed {
		docs = append(docs, bsonx.NewDoc("$project", bsonx.NewDoc(partitionField, false, "_id", true)))
	}
	return docs
}
