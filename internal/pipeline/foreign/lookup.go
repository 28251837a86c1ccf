package foreign

import (
	"context"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// Lookup is the compiled $lookup. It adds an array with the matching documents of another
// collection.
type Lookup struct {
	DB, From string // From is empty if the first stage of the pipeline generates the documents
	As       []string
	Local    []string // the path localField; nil if absent
	Foreign  string
	Let      []parsing.Let
	Stages   []bsonx.Value
	Piped    bool // the stage has a pipeline
	cached   bool // the results may be cached by the values that they depend on
	Opts     parsing.Options

	// Unwind is a $unwind of the array that is fused with this stage, or nil.
	Unwind *unwind.Stage
	Only   []bsonx.Value // a $match that found documents must satisfy; may be empty
	Wanted []string      // the top-level fields that later stages read; nil means all

	Tables *Tables // the table that the goroutines of one run share; nil on one goroutine
}

// lookupArgs contains the arguments as the client wrote them.
type lookupArgs struct {
	from, as, local, foreign, let, pipeline bsonx.Value
}

// lookupBudget is the memory limit of $lookup.
var lookupBudget = source.Budget{
	Param: "internalLookupStageIntermediateDocumentMaxSizeBytes",
	Least: limits.InternalDocumentBytes,
}

// LookupDefinition returns the definition of $lookup.
func LookupDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$lookup", Parse: parseLookup,
		Properties: parsing.OfDocuments(), Inside: insideJoin, Foreign: []string{"pipeline"},
		Budget: lookupBudget,
	}
}

// parseLookup compiles the argument of $lookup.
func parseLookup(arg bsonx.Value, opts parsing.Options) ([]parsing.Stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "the $lookup stage specification must be an object, but found %s", arg.Type)
	}
	var args lookupArgs
	if err := args.read(arg.Doc()); err != nil {
		return nil, err
	}
	if err := args.check(); err != nil {
		return nil, err
	}
	l := &Lookup{DB: opts.DB, Opts: opts, Piped: !args.pipeline.IsMissing()}
	l.cached = opts.IsRepeatable(args.pipeline)
	if !args.from.IsMissing() {
		l.From = args.from.Str()
		if l.From == "" {
			return nil, mongoerr.New(mongoerr.InvalidNamespace, "invalid $lookup namespace: %s", opts.DB)
		}
		if err := parsing.CheckCollection(l.From); err != nil {
			return nil, err
		}
	}
	var err error
	if l.As, err = expr.SplitFieldPath(args.as.Str()); err != nil {
		return nil, err
	}
	if !args.local.IsMissing() {
		if l.Local, err = expr.SplitFieldPath(args.local.Str()); err != nil {
			return nil, err
		}
		l.Foreign = args.foreign.Str()
		if _, err = expr.SplitFieldPath(l.Foreign); err != nil {
			return nil, err
		}
	}
	return []parsing.Stage{l}, l.setPipeline(args.let, args.pipeline)
}

func (a *lookupArgs) read(spec bsonx.Doc) error {
	for it := spec.Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		switch name {
		case "pipeline":
			a.pipeline = v
			if v.Type != bsonx.TypeArray {
				return mongoerr.New(mongoerr.TypeMismatch, "A pipeline must be an array of objects")
			}
			continue
		case "let":
			a.let = v
			if v.Type != bsonx.TypeDocument {
				return mongoerr.New(mongoerr.FailedToParse,
					"$lookup argument 'let: %s' must be an object, is type %s", bsonx.FormatShell(v), v.Type)
			}
			continue
		case "from":
			a.from = v
			if v.Type == bsonx.TypeDocument {
				return mongoerr.New(mongoerr.FailedToParse, "$lookup with syntax {from: {db:<>, coll:<>},..} is not supported for db: %s and coll: %s",
					v.Doc().LookupText("db"), v.Doc().LookupText("coll"))
			}
		case "as":
			a.as = v
		case "localField":
			a.local = v
		case "foreignField":
			a.foreign = v
		default:
			return mongoerr.New(mongoerr.FailedToParse, "unknown argument to $lookup: %s", name)
		}
		if name == "from" && v.Type != bsonx.TypeString {
			return mongoerr.New(mongoerr.FailedToParse, "$lookup 'from' field must be a string or an object, but found %s", v.Type)
		}
		if v.Type != bsonx.TypeString {
			return mongoerr.New(mongoerr.FailedToParse, "$lookup argument '%s: %s' must be a string, is type %s",
				name, bsonx.FormatShell(v), v.Type)
		}
	}
	return nil
}

// isNamed reports whether v is a non-empty string.
func isNamed(v bsonx.Value) bool { return v.Type == bsonx.TypeString && v.Str() != "" }

// check returns an error for missing arguments and invalid combinations.
func (a *lookupArgs) check() error {
	piped := !a.pipeline.IsMissing()
	if a.from.IsMissing() && !piped {
		return mongoerr.New(mongoerr.FailedToParse, "must specify 'pipeline' when 'from' is empty")
	}
	if a.from.IsMissing() && parsing.FirstStage(a.pipeline.Doc()) != "$documents" {
		return mongoerr.New(mongoerr.FailedToParse, "$lookup stage without explicit collection must have a pipeline with $documents as first stage")
	}
	switch {
	case a.as.IsMissing():
		return mongoerr.New(mongoerr.FailedToParse, "must specify 'as' field for a $lookup")
	case a.local.IsMissing() != a.foreign.IsMissing() && piped:
		return mongoerr.New(mongoerr.FailedToParse, "$lookup requires both or neither of 'localField' and 'foreignField' to be specified")
	case !piped && !(isNamed(a.local) && isNamed(a.foreign)):
		return mongoerr.New(mongoerr.FailedToParse, "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified")
	case !piped && !a.let.IsMissing():
		return mongoerr.New(mongoerr.FailedToParse, "$lookup with a 'let' argument must also specify 'pipeline'")
	default:
		return nil
	}
}

// setPipeline checks the sub-pipeline. Its variables have no values yet.
func (l *Lookup) setPipeline(let, stages bsonx.Value) error {
	if !l.Piped {
		return nil
	}
	// Errors of constant expressions are reported when the pipeline is compiled with the values of
	// its variables.
	var ignored expr.Failures
	var err error
	inner := l.Opts
	l.Let, inner.Vars, err = parsing.ParseLets(let.Doc(), l.Opts.Vars.WithFailures(&ignored))
	if err != nil {
		return err
	}
	l.Stages = stages.Clone().Doc().Values()
	_, err = parsing.ParseSub(stages, inner, parsing.TopOf(l.From), parsing.InLookup)
	return err
}

// Open implements parsing.Stage.
func (l *Lookup) Open(src source.Source, env *source.Env) source.Source {
	env = env.For(lookupBudget)
	s := &LookupSource{
		Input: source.Input{Src: src}, lookup: l, env: env, held: env.Hold(),
		limit: env.Limit(), out: bsonx.NewBuilder(nil),
		letValues: make([]bsonx.Value, len(l.Let)), ctx: expr.Context{Now: l.Opts.Now},
		doc: document.NewSplicer(l.As, l.Wanted),
	}
	s.cache.limit = min(s.limit, maxLookupCache)
	s.cache.off = !l.cached
	s.foreign = foreignField{
		db: l.DB, name: l.From, path: l.Foreign, before: l.Only,
		opts: l.Opts, env: env, tables: l.Tables,
	}
	return s
}

// LookupSource runs a $lookup.
type LookupSource struct {
	source.Input
	lookup    *Lookup
	env       *source.Env
	held      memory.Holding // the memory of the results and the cache
	limit     int
	ctx       expr.Context
	locals    []bsonx.Value
	letValues []bsonx.Value
	key       []byte
	cache     resultCache
	foreign   foreignField
	out       *bsonx.Builder
	doc       document.Splicer
	unwinding
}

// Next implements source.Source.
func (s *LookupSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.lookup.Unwind != nil {
		return s.nextUnwound(ctx)
	}
	doc, err := s.Src.Next(ctx)
	if err != nil || doc == nil {
		return nil, err
	}
	found, err := s.find(ctx, doc)
	if err != nil {
		return nil, err
	}
	s.doc.Start(doc)
	if err := s.hold(s.doc.Room(found)); err != nil {
		return nil, err
	}
	return s.doc.With(found), nil
}

// hold reserves the memory that the stage keeps, and n bytes more.
func (s *LookupSource) hold(n int64) error { return s.held.Hold(s.kept() + n) }

// kept returns the bytes that the stage keeps, without its table.
func (s *LookupSource) kept() int64 {
	return s.doc.Kept() + int64(cap(s.out.Bytes())+len(s.next)+s.cache.bytes)
}

// find returns the array of documents that match doc. The array is borrowed until the next call of
// find.
func (s *LookupSource) find(ctx context.Context, doc bsonx.Doc) (bsonx.Value, error) {
	if err := s.evaluate(ctx, doc); err != nil {
		return bsonx.Missing, err
	}
	cached := !s.cache.off && len(s.key) <= s.cache.limit
	if cached {
		if v, ok := s.cache.get(s.key); ok {
			return v, nil
		}
	}
	src, err := s.search(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	s.out.Reset(s.out.Bytes()[:0])
	s.out.StartArray()
	whole, err := s.gather(ctx, src)
	if err != nil {
		return bsonx.Missing, err
	}
	s.out.End()
	v := bsonx.Array(s.out.Bytes())
	if whole && cached && s.held.Spare(s.kept()+int64(len(s.key)+len(v.Data))) {
		s.cache.put(s.key, v)
	}
	return v, nil
}

func (s *LookupSource) search(ctx context.Context) (source.Source, error) {
	if s.lookup.Piped {
		return s.runPipeline(ctx)
	}
	return s.foreign.Open(ctx, s.locals)
}

// gather appends the found documents to the array s.out and closes src. With a fused $unwind the
// array may stop at limits.DocumentBytes: then whole is false, and s.next and s.rest yield the
// remaining documents.
func (s *LookupSource) gather(ctx context.Context, src source.Source) (whole bool, err error) {
	for {
		doc, err := src.Next(ctx)
		if err != nil || doc == nil {
			src.Close()
			return true, err
		}
		if s.out.Len()+len(doc) <= limits.DocumentBytes {
			if err := s.makeRoom(len(doc)); err != nil {
				src.Close()
				return true, err
			}
			s.out.Elem(bsonx.Document(doc))
			continue
		}
		if s.lookup.Unwind == nil {
			src.Close()
			return false, mongoerr.New(4568, "Total size of documents in %s matching pipeline's $lookup stage exceeds %d bytes", s.lookup.From, limits.DocumentBytes)
		}
		s.next, s.rest = doc.Clone(), src
		return false, nil
	}
}

// makeRoom grows the array for a document of n bytes, and reserves the memory. While the array is
// copied to a larger buffer, both buffers count.
func (s *LookupSource) makeRoom(n int) error {
	n += arrayKeyRoom
	have, room := s.out.Len(), cap(s.out.Bytes())
	if have+n <= room {
		return nil
	}
	if have+n >= memory.Step {
		if err := s.hold(int64(have + max(n, have))); err != nil {
			return err
		}
	}
	s.out.Grow(n)
	return nil
}

// varsPerLook is the number of variables that are computed between two checks for an interrupt.
const varsPerLook = 1 << 10

// arrayKeyRoom is an upper bound in bytes for the type and key of an array element, plus the end of
// the array.
const arrayKeyRoom = 16

// evaluate computes the values that the results for doc depend on, and the cache key made from
// them. If the key is too long for the cache, it stays incomplete.
func (s *LookupSource) evaluate(ctx context.Context, doc bsonx.Doc) error {
	s.key, s.locals = s.key[:0], s.locals[:0]
	if s.lookup.Local != nil {
		visitValues(bsonx.Document(doc), s.lookup.Local, func(v bsonx.Value) {
			s.locals = append(s.locals, v)
			s.extendKey(v)
		})
		s.key = append(s.key, 0)
	}
	s.ctx.Root, s.ctx.Meta = bsonx.Document(doc), source.MetaOf(s.Src)
	var made int64 // bytes of computed values that do not borrow from doc
	for i, v := range s.lookup.Let {
		var err error
		if s.letValues[i], err = v.Value.Eval(&s.ctx); err != nil {
			return err
		}
		s.extendKey(s.letValues[i])
		if _, borrowed := expr.FieldPath(v.Value); !borrowed {
			made += int64(len(s.letValues[i].Data))
		}
		if i%varsPerLook != 0 && made < memory.LargeValue {
			continue
		}
		if err := memory.Of(ctx).Value(made); err != nil {
			return err
		}
		if err := interrupt.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// extendKey appends v to the cache key, unless the key is already too long.
func (s *LookupSource) extendKey(v bsonx.Value) {
	if !s.cache.off && len(s.key) <= s.cache.limit {
		s.key = appendExactKey(s.key, v)
	}
}

func (s *LookupSource) runPipeline(ctx context.Context) (source.Source, error) {
	vars := s.lookup.Opts.Vars
	for i, v := range s.lookup.Let {
		vars = vars.WithConst(v.Name, s.letValues[i])
	}
	return s.env.Open(ctx, s.lookup.DB, s.lookup.From, s.lookup.joined(s.locals), vars)
}

// joined returns the sub-pipeline with a $match for the joined field in front. If the pipeline
// begins with $documents, the $match follows that stage.
func (l *Lookup) joined(locals []bsonx.Value) []bsonx.Value {
	if l.Local == nil {
		return slices.Concat(l.Stages, l.Only)
	}
	at := 0
	if l.From == "" {
		at = 1
	}
	return slices.Concat(l.Stages[:at], []bsonx.Value{matchAny(l.Foreign, locals)}, l.Stages[at:], l.Only)
}

// visitValues calls f for each value at path, and descends into arrays of documents. If the value
// at the end of the path is an array, it calls f for the elements.
func visitValues(v bsonx.Value, path []string, f func(bsonx.Value)) {
	switch {
	case len(path) == 0 && v.Type == bsonx.TypeArray:
		for it := v.Doc().Iter(); it.Next(); {
			f(it.Value())
		}
	case len(path) == 0:
		if !v.IsMissing() {
			f(v)
		}
	case v.Type == bsonx.TypeDocument:
		visitValues(v.Doc().Lookup(path[0]), path[1:], f)
	case v.Type == bsonx.TypeArray:
		if _, numeric := bsonx.ArrayIndex(path[0]); numeric {
			visitValues(v.Doc().Lookup(path[0]), path[1:], f)
		}
		for it := v.Doc().Iter(); it.Next(); {
			if it.Value().Type == bsonx.TypeDocument {
				visitValues(it.Value(), path, f)
			}
		}
	}
}

// insideJoin implements Definition.Inside for $lookup and $unionWith.
func insideJoin(arg bsonx.Value, w parsing.Walker) {
	for _, v := range []bsonx.Value{arg, parsing.Argument(arg, "from"), parsing.Argument(arg, "coll")} {
		if v.Type == bsonx.TypeString {
			w.Collection(v.Str())
		}
	}
	w.Pipeline(parsing.Argument(arg, "pipeline"))
	w.Expression(parsing.Argument(arg, "let"))
}

// Needs implements parsing.Reader.
func (l *Lookup) Needs(n *parsing.Needs) {
	if l.Local != nil {
		n.Field(l.Local[0])
	}
	for _, v := range l.Let {
		n.Expr(v.Value)
	}
	n.Define(strings.Join(l.As, "."))
	if l.Unwind != nil && l.Unwind.Index != nil {
		n.Define(strings.Join(l.Unwind.Index, "."))
	}
}

// Narrow implements parsing.Narrower.
func (l *Lookup) Narrow(fields []string) parsing.Stage {
	narrowed := *l
	narrowed.Wanted = fields
	if l.Unwind != nil {
		narrowed.Unwind = l.Unwind.Keeping(fields)
	}
	return &narrowed
}

// IsPerDocument implements parsing.PerDocument.
func (*Lookup) IsPerDocument() bool { return true }

// IsOneToOne implements parsing.OneToOne. With a fused $unwind, a document can give any number of
// results.
func (l *Lookup) IsOneToOne() bool { return l.Unwind == nil }

// Changes implements parsing.Changer.
func (l *Lookup) Changes() (fields []string, drops, ok bool) {
	return l.As[:1], false, l.IsOneToOne()
}
