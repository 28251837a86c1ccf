package pipeline

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// facet is the $facet stage. It yields one document with the results of several pipelines over the
// same input.
type facet struct {
	names     []string
	pipelines []source.Runner
}

// facetBudget is the size limit of the result of $facet.
var facetBudget = source.Budget{Param: "internalQueryFacetMaxOutputDocSizeBytes", Least: 1}

func facetDefinition() parsing.Definition {
	properties := parsing.OfDocuments()
	properties.Facets = feature.No
	return parsing.Definition{
		Name: "$facet", Parse: parseFacet, Properties: properties, Inside: insideFacet,
		Safety: parsing.Safety{Writes: feature.No, Transactions: feature.Yes, StableAPI: parsing.EveryUse},
		Budget: facetBudget,
	}
}

func parseFacet(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument || arg.Doc().IsEmpty() {
		return nil, mongoerr.New(40169, "the $facet specification must be a non-empty object, but found: $facet: %s", bsonx.FormatShell(arg))
	}
	f := &facet{}
	for it := arg.Doc().Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		if err := checkFacet(name, v); err != nil {
			return nil, err
		}
		p, err := parsing.ParseSub(v, opts, parsing.OverUnknown, parsing.InFacet)
		if err != nil {
			return nil, err
		}
		f.names = append(f.names, name)
		f.pipelines = append(f.pipelines, p)
	}
	return []parsing.Stage{f}, nil
}

func checkFacet(name string, v bsonx.Value) error {
	const rule = "$facet pipeline names must follow the naming rules of field path expressions. :: caused by :: "
	switch {
	case name == "":
		return mongoerr.New(15998, rule+"FieldPath field names may not be empty strings.")
	case strings.HasPrefix(name, "$"):
		return mongoerr.New(16410, rule+"FieldPath field names may not start with '$', given '%s'.", name)
	case strings.Contains(name, "."):
		return mongoerr.New(16412, rule+"FieldPath field names may not contain '.', given '%s'.", name)
	case v.Type != bsonx.TypeArray:
		return mongoerr.New(40170, "arguments to $facet must be arrays, %s is type %s", name, v.Type)
	}
	for it := v.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			return mongoerr.New(40171, "elements of arrays in $facet spec must be non-empty objects, %s argument contained an element of type %s: %s: %s",
				name, it.Value().Type, it.Key(), bsonx.FormatShell(it.Value()))
		}
	}
	return nil
}

func (f *facet) Open(src source.Source, env *source.Env) source.Source {
	env = env.For(facetBudget)
	return &facetSource{Input: source.Input{Src: src}, facet: f, env: env}
}

type facetSource struct {
	source.Input
	facet *facet
	env   *source.Env
	done  bool
}

// Next implements source.Source.
func (s *facetSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.done {
		return nil, nil
	}
	s.done = true
	total := facetTotal{limit: s.env.Configured(), held: s.env.Hold()}
	defer total.held.Release()
	runs := make([]*facetRun, len(s.facet.pipelines))
	for i, p := range s.facet.pipelines {
		if i%facetRunsPerLook == 0 {
			if err := interrupt.Cause(ctx); err != nil {
				return nil, err
			}
			if err := total.open(min(i+facetRunsPerLook, len(runs))); err != nil {
				return nil, err
			}
		}
		runs[i] = newFacetRun(ctx, p, s.env, &total)
		defer runs[i].stop()
	}
	if err := s.feed(ctx, runs); err != nil {
		return nil, err
	}
	out := bsonx.NewBuilder(make([]byte, 0, total.bytes+64*len(runs)))
	out.StartDoc()
	for i, run := range runs {
		run.out.End()
		out.Array(s.facet.names[i], run.out.Bytes())
	}
	out.End()
	return out.Bytes(), nil
}

// facetTotal counts the bytes of the results of all pipelines, twice, because building the result
// document copies them.
type facetTotal struct {
	bytes, limit int
	runs         int // the number of open pipelines
	held         memory.Holding
}

const (
	// facetRunsPerLook is the number of pipelines opened between two checks for an interrupt.
	facetRunsPerLook = 64
	// facetRunBytes estimates the memory of an open pipeline before it reads a document: a
	// coroutine with its stack.
	facetRunBytes = 8 << 10
)

// open records the number of open pipelines, and reserves memory for them.
func (t *facetTotal) open(runs int) error {
	t.runs = runs
	return t.hold()
}

func (t *facetTotal) hold() error { return t.held.Hold(2*int64(t.bytes) + facetRunBytes*int64(t.runs)) }

func (t *facetTotal) add(n int) error {
	if t.bytes += n; t.bytes > t.limit {
		return mongoerr.New(4031700, "document constructed by $facet is %d bytes, which exceeds the limit of %d bytes", t.bytes, t.limit)
	}
	return t.hold()
}

// All pipelines read one batch of the input before the next batch is fetched. A batch ends at about
// this many documents or bytes.
const (
	facetBatchDocs  = 256
	facetBatchBytes = 1 << 20
)

// feed reads the input once, in batches, and passes each batch to all pipelines.
func (s *facetSource) feed(ctx context.Context, runs []*facetRun) error {
	var arena []byte
	var docs []bsonx.Doc
	var kept source.KeptMeta
	var meter interrupt.Meter
	for active, end := len(runs), false; active > 0; {
		arena, docs = arena[:0], docs[:0]
		for len(docs) < facetBatchDocs && len(arena) < facetBatchBytes && !end {
			doc, err := s.Src.Next(ctx)
			if err != nil {
				return err
			}
			if end = doc == nil; end {
				break
			}
			if err := meter.Passed(ctx, interrupt.Document+len(doc)); err != nil {
				return err
			}
			at := len(arena)
			arena = append(arena, kept.Join(doc, s.Src)...)
			docs = append(docs, bsonx.Doc(arena[at:len(arena):len(arena)]))
		}
		for _, run := range runs {
			if run.ended {
				continue
			}
			// A pipeline may take long for a batch, and there may be hundreds of pipelines.
			if err := interrupt.Cause(ctx); err != nil {
				return err
			}
			run.kept.Noted.Searched = kept.Noted.Searched
			if err := run.take(docs, end); err != nil {
				return err
			}
			if run.ended {
				active--
			}
		}
	}
	return nil
}

// facetRun is one running pipeline of a $facet. The pipeline pulls its input with Next, so it runs
// as a coroutine that pauses in wait until the next batch arrives.
type facetRun struct {
	source.InMemory
	kept  source.KeptMeta
	docs  []bsonx.Doc
	end   bool
	ended bool
	err   error
	out   *bsonx.Builder
	// wait blocks until the next batch arrives. It returns false if the pipeline must stop.
	wait func(struct{}) bool
	next func() (struct{}, bool)
	stop func()
}

func newFacetRun(ctx context.Context, p source.Runner, env *source.Env, total *facetTotal) *facetRun {
	run := &facetRun{out: bsonx.NewBuilder(nil)}
	run.out.StartArray()
	run.next, run.stop = iter.Pull(func(yield func(struct{}) bool) {
		run.wait = yield
		src := env.Run(p, run)
		defer src.Close()
		run.err = source.Drain(ctx, src, func(doc bsonx.Doc) error {
			if err := total.add(len(doc)); err != nil {
				return err
			}
			run.out.Elem(bsonx.Document(doc))
			return nil
		})
	})
	return run
}

// take lets the pipeline consume a batch of documents. With end true, no batch follows.
func (r *facetRun) take(docs []bsonx.Doc, end bool) error {
	r.docs, r.end = docs, end
	if _, waits := r.next(); !waits {
		r.ended = true
	}
	return r.err
}

var errFacetStopped = errors.New("another pipeline of the $facet has failed")

// Meta implements source.MetaSource.
func (r *facetRun) Meta() *expr.Meta { return r.kept.Meta() }

// Next implements source.Source. The pipeline reads its input through it.
func (r *facetRun) Next(context.Context) (bsonx.Doc, error) {
	for len(r.docs) == 0 {
		if r.end {
			return nil, nil
		}
		if !r.wait(struct{}{}) {
			r.end = true
			return nil, errFacetStopped
		}
	}
	doc := r.docs[0]
	r.docs = r.docs[1:]
	return r.kept.Split(doc), nil
}

// Meta implements source.MetaSource. The result of $facet has no document metadata.
func (s *facetSource) Meta() *expr.Meta { return source.WithoutScore(s.Src) }

func insideFacet(arg bsonx.Value, w parsing.Walker) {
	if arg.Type != bsonx.TypeDocument {
		return
	}
	for it := arg.Doc().Iter(); it.Next(); {
		w.Pipeline(it.Value())
	}
}

// Explain implements parsing.Stage.
func (f *facet) Explain(ctx context.Context, x *parsing.Explaining) ([]parsing.Form, error) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for i, name := range f.names {
		docs, counts, err := x.Inner(ctx, i, f.pipelines[i])
		if err != nil {
			return nil, err
		}
		b.StartArrayField(name)
		b.StartDocElem()
		b.Doc("$internalFacetTeeConsumer", bsonx.Empty)
		if counts != nil {
			counts.Append(b)
		}
		b.End()
		for _, doc := range docs {
			b.Elem(bsonx.Document(doc))
		}
		b.End()
	}
	b.End()
	return parsing.Forms(bsonx.NewDoc("$facet", bsonx.Doc(b.Bytes()))), nil
}
