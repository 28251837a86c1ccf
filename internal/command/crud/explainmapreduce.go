package crud

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/read"
)

// explainMapReduce explains a mapReduce as a pipeline with the same effect.
func explainMapReduce(ctx context.Context, req *command.Request,
	verbosity explain.Verbosity, reply *bsonx.Builder,
) error {
	q, out, err := parseMapReduce(req)
	if err != nil {
		return err
	}
	sc, err := command.NewScope(req)
	if err != nil {
		return err
	}
	p := pipelinesOf(req, sc)
	p.Verbosity = verbosity
	x := &explainedMapReduce{req: req, clock: req.Service.Clock}
	if x.last, err = x.ending(ctx, p, sc, &out); err != nil {
		return err
	}
	answer, err := p.ExplainQuery(ctx, &explain.Request{Query: q, Verbosity: verbosity}, x, false)
	if err != nil {
		return err
	}
	reply.String("explainVersion", "1")
	appendStages(reply, answer.Stages)
	appendServer(req.Service, reply)
	appendCommand(req, reply, req.Body)
	return nil
}

// explainedMapReduce is a mapReduce that is explained. It describes itself as stages: a $project
// that maps, an $unwind of the emitted pairs, a $group that reduces, and the stages that the method
// ending returns.
type explainedMapReduce struct {
	req   *command.Request
	clock clock.Clock
	last  []bsonx.Doc // the stages that ending returned

	ran                        bool
	read, emitted, groups      int64
	reading                    time.Duration
	mapped, reduced, finalized time.Duration // time from the start of the mapReduce to the end of the phase
}

// ending returns the explained stages after the $group: one for the function finalize, and one that
// writes the output.
func (x *explainedMapReduce) ending(ctx context.Context, p *read.Pipelines, sc read.Scope,
	out *mapReduceOut,
) ([]bsonx.Doc, error) {
	var stages []bsonx.Value
	finalize := x.finalize()
	if finalize != nil {
		stages = append(stages, bsonx.Document(finalize))
	}
	if out.mode != outInline {
		target, err := out.target(x.req.DB)
		if err != nil {
			return nil, err
		}
		writer := x.writer(out.mode, target)
		if err := p.CheckExplainWriter(string(writer.First().Key)); err != nil {
			return nil, err
		}
		stages = append(stages, bsonx.Document(writer))
	}
	rest, env, _, err := p.Compile(x.req.DB, "", read.OwnStages{List: stages}, sc.Vars)
	if err != nil {
		return nil, err
	}
	return rest.Explain(env, nil).Stages(ctx)
}

// finalize returns a stage that calls the function finalize, or nil if the command has no such
// function.
func (x *explainedMapReduce) finalize() bsonx.Doc {
	code := x.req.Get("finalize")
	if code.IsNull() {
		return nil
	}
	return projectCall(code.Str(), bsonx.String("$value"))
}

// projectCall returns a $project that sets value to code(key, arg).
func projectCall(code string, arg bsonx.Value) bsonx.Doc {
	call := bsonx.NewDoc("body", code, "args", bsonx.NewArray("$_id", arg), "lang", "js")
	return bsonx.NewDoc("$project", bsonx.NewDoc("value", bsonx.NewDoc("$function", call)))
}

// writer returns the stage that writes the output to a collection: $out or $merge.
func (x *explainedMapReduce) writer(mode outMode, target *command.Namespace) bsonx.Doc {
	where := bsonx.NewDoc("db", target.DB, "coll", target.Name)
	if mode == outReplace {
		return bsonx.NewDoc("$out", where)
	}
	matched := bsonx.String("replace")
	if mode == outReduce {
		both := bsonx.Array(bsonx.NewArray("$value", "$$new.value").Doc())
		stages := []bsonx.Doc{projectCall(x.req.Get("reduce").Str(), both)}
		if finalize := x.finalize(); finalize != nil {
			stages = append(stages, finalize)
		}
		matched = bsonx.ValueOf(stages)
	}
	return bsonx.NewDoc("$merge",
		bsonx.NewDoc("into", where, "on", "_id", "whenMatched", matched, "whenNotMatched", "insert"))
}

// Run returns a source that runs the mapReduce over the documents of in. It implements
// explainedStages of package read.
func (x *explainedMapReduce) Run(in source.Source) source.Source {
	return &mapReduceSource{Source: in, x: x}
}

// Read returns how many documents were read, and for how long. It implements explainedStages of
// package read.
func (x *explainedMapReduce) Read() (n, millis int64) { return x.read, x.reading.Milliseconds() }

// Stages returns the mapReduce as stages of a pipeline. It implements explainedStages of package
// read.
func (x *explainedMapReduce) Stages(context.Context) ([]bsonx.Doc, error) {
	emit := bsonx.NewDoc("$_internalJsEmit", bsonx.NewDoc("eval", x.req.Get("map").Str(), "this", "$$ROOT"))
	reduce := bsonx.NewDoc("$_internalJsReduce", bsonx.NewDoc("data", "$emits", "eval", x.req.Get("reduce").Str()))
	stages := []bsonx.Doc{
		x.counted(bsonx.NewDoc("$project", bsonx.NewDoc("emits", emit, "_id", false)), x.read, x.mapped),
		x.counted(bsonx.NewDoc("$unwind", bsonx.NewDoc("path", "$emits")), x.emitted, x.mapped),
		x.counted(bsonx.NewDoc("$group", bsonx.NewDoc("_id", "$emits.k", "value", reduce)), x.groups, x.reduced),
	}
	for _, stage := range x.last {
		stages = append(stages, x.counted(stage, x.groups, x.finalized))
	}
	return stages, nil
}

// counted adds the number of documents and the time to an explained stage, if the mapReduce was
// run.
func (x *explainedMapReduce) counted(stage bsonx.Doc, n int64, elapsed time.Duration) bsonx.Doc {
	if !x.ran {
		return stage
	}
	return withFields(stage, bsonx.NewDoc("nReturned", n, "executionTimeMillisEstimate", elapsed.Milliseconds()))
}

// mapReduceSource runs a mapReduce for explain and drops its results.
type mapReduceSource struct {
	source.Source
	x *explainedMapReduce
}

// Next implements source.Source.
func (s *mapReduceSource) Next(ctx context.Context) (bsonx.Doc, error) {
	x := s.x
	if x.ran {
		return nil, nil
	}
	x.ran = true
	m, err := newMapReduce(x.req)
	if err != nil {
		return nil, err
	}
	start := x.clock.Now()
	if err := m.mapAll(ctx, &mappedSource{Source: s.Source, x: x}); err != nil {
		return nil, err
	}
	x.mapped, x.emitted = x.clock.Now().Sub(start), m.emitted
	finalize := m.finalize
	m.finalize = nil // called below, so that its time is measured separately
	docs, err := m.results(ctx)
	if err != nil {
		return nil, err
	}
	x.reduced, x.groups = x.clock.Now().Sub(start), int64(len(docs))
	m.finalize = finalize
	for _, doc := range docs {
		if _, err := m.finalized(ctx, doc.Lookup("_id"), doc.Lookup("value")); err != nil {
			return nil, err
		}
	}
	x.finalized = x.clock.Now().Sub(start)
	return nil, nil
}

// mappedSource counts the documents that the map function receives, and measures the time of
// reading them.
type mappedSource struct {
	source.Source
	x *explainedMapReduce
}

// Next implements source.Source.
func (s *mappedSource) Next(ctx context.Context) (bsonx.Doc, error) {
	start := s.x.clock.Now()
	doc, err := s.Source.Next(ctx)
	s.x.reading += s.x.clock.Now().Sub(start)
	if doc != nil {
		s.x.read++
	}
	return doc, err
}
