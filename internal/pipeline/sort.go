package pipeline

import (
	"bytes"
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/extsort"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/passage"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// These are the kinds of metadata that {$meta: …} in a sort pattern or expression names.
const (
	scoreKind   = "textScore"
	sortKeyKind = "sortKey"
)

// sort is the $sort stage. Documents with equal keys keep their order. The stage uses the same sort
// keys as the planner, so that an index gives the same order as the stage.
type sort struct {
	pattern   bsonx.Doc
	shown     bsonx.Doc // the pattern for explain, in which metadata keys have no path
	keys      index.Pattern
	collation *collation.Collator
	limit     int64 // the number of documents that the following stages can read; 0 means all
	windowed  bool  // the sort is a part of $setWindowFields
	noted     bool  // documents get their sort keys as metadata
}

// noteSortKeys makes the sorts of $setWindowFields store sort keys as metadata, if the
// pipeline mentions sortKey. As in MongoDB, other sorts do so only in the query at the beginning of
// a pipeline.
func noteSortKeys(steps []step, stages bsonx.Value) {
	if !bytes.Contains(stages.Data, []byte("sortKey")) {
		return
	}
	for _, st := range steps {
		if s, ok := st.Stage.(*sort); ok {
			s.noted = s.windowed
		}
	}
}

var errSortKeys = mongoerr.New(13103, "too many compound keys")

// sortBudget is the memory limit of $sort, and of the sorts of other stages.
var sortBudget = source.Budget{Param: "internalQueryMaxBlockingSortMemoryUsageBytes", Least: 0}

func sortDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$sort", Parse: parseSort,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Properties: parsing.OfDocuments(), Inside: parsing.InsideNothing,
		Budget: sortBudget,
	}
}

func parseSort(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(15973, "the $sort key specification must be an object")
	}
	if arg.Doc().IsEmpty() {
		return nil, mongoerr.New(15976, "$sort stage must have at least one sort key")
	}
	s, err := newSort(arg.Doc(), opts)
	if err != nil {
		return nil, err
	}
	return []parsing.Stage{s}, nil
}

// newSort compiles a sort pattern, which is not empty.
func newSort(spec bsonx.Doc, opts parsing.Options) (*sort, error) {
	if spec.Len() > limits.SortFields {
		return nil, errSortKeys
	}
	s := &sort{}
	pattern, shown := bsonx.NewBuilder(nil), bsonx.NewBuilder(nil)
	pattern.StartDoc()
	shown.StartDoc()
	for it := spec.Iter(); it.Next(); {
		if err := opts.Vars.CheckMeta(metaKind(it.Value())); err != nil {
			return nil, err
		}
		key, err := parseSortKey(string(it.Key()), it.Value())
		if err != nil {
			return nil, err
		}
		name := it.Key()
		if key.IsMeta() {
			name = []byte("$computed" + bsonx.IndexKey(len(s.keys)))
		}
		s.keys = append(s.keys, key)
		pattern.ValueBytes(it.Key(), it.Value())
		shown.ValueBytes(name, it.Value())
	}
	pattern.End()
	shown.End()
	s.pattern, s.shown = pattern.Bytes(), shown.Bytes()
	s.collation = opts.Collation
	return s, nil
}

// parseSortKey parses one field of a sort pattern.
func parseSortKey(name string, v bsonx.Value) (index.Field, error) {
	if _, err := expr.SplitFieldPath(name); err != nil {
		return index.Field{}, err
	}
	if v.Type == bsonx.TypeDocument {
		if kind := v.Doc().Lookup("$meta"); v.Doc().Len() == 1 && kind.Type == bsonx.TypeString {
			if path := expr.Metadata(kind.Str()).SortPath; path != "" {
				return index.Field{Path: path, Desc: true}, nil
			}
		}
		return index.Field{}, checkSortMeta(v.Doc())
	}
	if !v.Type.IsNumber() {
		return index.Field{}, mongoerr.New(15974,
			"Illegal key in $sort specification: %s: %s", name, bsonx.FormatShell(v))
	}
	n, ok := v.RoundInt64()
	if !ok || n != 1 && n != -1 {
		return index.Field{}, mongoerr.New(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
	}
	return index.Field{Path: name, Desc: n < 0}, nil
}

// metaKind returns the name of the kind of metadata that v sorts by, here or in Atlas, or "".
func metaKind(v bsonx.Value) string {
	if v.Type != bsonx.TypeDocument {
		return ""
	}
	name := v.Doc().Lookup("$meta")
	if name.Type != bsonx.TypeString {
		return ""
	}
	kind := expr.Metadata(name.Str())
	if kind.SortPath == "" && kind.From != expr.AtlasSearch {
		return ""
	}
	return kind.Name
}

// checkSortMeta returns the error for a {$meta: …} in a sort pattern that is malformed or not
// supported in pipelines.
func checkSortMeta(spec bsonx.Doc) error {
	kind := spec.Lookup("$meta")
	switch {
	case kind.IsMissing():
		return mongoerr.New(17312, "$meta is the only expression supported by $sort right now")
	case spec.Len() > 1:
		return mongoerr.New(mongoerr.FailedToParse, "Cannot have additional keys in a $meta sort specification")
	}
	if kind.Type == bsonx.TypeString {
		if name := kind.Str(); expr.Metadata(name).From == expr.AtlasSearch {
			return expr.NoMeta(name)
		}
	}
	return mongoerr.New(31138, "Illegal $meta sort: $meta: %s", bsonx.FormatShell(kind))
}

// dropSorts removes every $sort that is followed by another $sort, with only $match stages in
// between. It is not an optimiser rule, because the results differ as in MongoDB: documents with
// equal keys do not keep the order of the first sort, and {$meta: "sortKey"} is the key of the last
// one.
func dropSorts(steps []step) []step {
	replaced := false // another $sort follows
	for i := len(steps) - 1; i >= 0; i-- {
		switch steps[i].Stage.(type) {
		case *sort:
			if replaced {
				steps = slices.Delete(steps, i, i+1)
			}
			replaced = true
		case *match:
		default:
			replaced = false
		}
	}
	return steps
}

func (s *sort) Open(src source.Source, env *source.Env) source.Source {
	env = env.For(sortBudget)
	out := &sortingSource{Input: source.Input{Src: src}, env: env, limit: s.limit, pattern: s.keys}
	if s.noted {
		out.noted = index.NewMetaSortGen(s.keys, s.collation)
	}
	if s.keys.HasMeta() {
		out.key = s.metaKey(src)
	} else {
		out.key = index.NewSortKeyGen(s.keys, s.collation).Append
	}
	return out
}

// metaKey returns a function that appends the sort key of a document, for patterns that sort by
// metadata.
func (s *sort) metaKey(src source.Source) func(dst []byte, doc bsonx.Doc) ([]byte, error) {
	gen := index.NewMetaSortGen(s.keys, s.collation)
	scored := slices.ContainsFunc(s.keys, func(f index.Field) bool { return f.Path == index.ScorePath })
	return func(dst []byte, doc bsonx.Doc) ([]byte, error) {
		m := source.MetaOf(src)
		if scored && (m == nil || !m.Searched) {
			return nil, errNoScore
		}
		return gen.Append(dst, doc, m.SortMeta())
	}
}

// Needs implements parsing.Reader.
func (s *sort) Needs(n *parsing.Needs) {
	for _, key := range s.keys {
		if key.IsMeta() {
			n.Whole()
			return
		}
		n.Field(key.Path)
	}
}

// passage implements passer. With a limit no predicate can move before the sort, because it applies
// only to the documents within the limit.
func (s *sort) passage() passage.Func {
	if s.limit != 0 {
		return nil
	}
	return passage.Unless()
}

// Explain implements parsing.Stage.
func (s *sort) Explain(_ context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	form := bsonx.NewDoc("sortKey", s.shown)
	if s.limit > 0 {
		form = bsonx.NewDoc("sortKey", s.shown, "limit", s.limit)
	}
	return parsing.Forms(bsonx.NewDoc("$sort", form)), nil
}

// Figures implements parsing.Measured. The counts come last, as in MongoDB.
func (*sort) Figures(b *bsonx.Builder, run *parsing.Run) {
	if src, ok := run.Opened.(*sortingSource); ok {
		b.Int64("totalDataSizeSortedBytesEstimate", run.In.Bytes+run.In.Docs*extsort.EntryBytes)
		appendSorted(b, src.sorter)
	}
	run.Out.Append(b)
}

// appendSorted writes the disk usage of a sort. The sorter s is nil if the sort did not begin.
func appendSorted(b *bsonx.Builder, s *extsort.Sorter) {
	spilled := s.Spilled()
	parsing.AppendSpilled(b, spilled.Runs, spilled.Bytes)
}

// isNoop implements noop.
func (s *sort) isNoop(before parsing.Stage) bool {
	earlier, ok := before.(*sort)
	return ok && string(earlier.pattern) == string(s.pattern)
}
