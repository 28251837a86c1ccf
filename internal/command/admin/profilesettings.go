package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// maxProfileLevel is the highest valid profiling level.
const maxProfileLevel = 2

// runProfile runs the command profile. Levels over 0 are not implemented; the command sets slowms,
// sampleRate and filter of the slow operation log.
func runProfile(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	v := req.CommandValue()
	if !v.Type.IsNumber() {
		return command.WrongType("profile.profile", v.Type, command.SafeInt)
	}
	level := bsonx.SaturatingInt64(v)
	if level > 0 && level <= maxProfileLevel {
		return mongoerr.New(mongoerr.NotImplemented, "the profiler is not implemented by Sheaf yet; slow operations are logged")
	}
	if level > maxProfileLevel {
		return mongoerr.New(mongoerr.BadValue, "profiling level must be one of -1, 0, 1, 2")
	}
	s := req.Service
	was := s.SlowPolicy.Load()
	next, err := changedPolicy(*was, req)
	if err != nil {
		return err
	}
	reply.Int32("was", 0)
	reply.Int32("slowms", int32(s.Slow.Load()))
	reply.Double("sampleRate", was.SampleRate)
	if was.Filter != nil {
		reply.Doc("filter", was.Spec)
		reply.String("note", "When a filter expression is set, slowms and sampleRate are not used for profiling and slow-query log lines.")
	}
	s.SlowPolicy.Store(&next)
	if req.Has("slowms") {
		s.Slow.Store(req.Int64("slowms", 0))
	}
	return nil
}

// changedPolicy returns the policy p with the changes that a profile command asks for.
func changedPolicy(p command.SlowPolicy, req *command.Request) (command.SlowPolicy, error) {
	if req.Has("sampleRate") {
		rate, _ := req.Get("sampleRate").AsFloat64()
		if !(rate >= 0 && rate <= 1) {
			return p, mongoerr.New(mongoerr.BadValue, "'sampleRate' must be between 0.0 and 1.0 inclusive")
		}
		p.SampleRate = rate
	}
	switch v := req.Get("filter"); {
	case v.IsMissing():
	case v.Type == bsonx.TypeString && v.Str() == "unset":
		p.Filter, p.Spec = nil, nil
	case v.Type == bsonx.TypeString:
		return p, mongoerr.New(mongoerr.BadValue, "Expected an object, or the string 'unset'.")
	default:
		spec := v.Doc().Clone()
		f, err := filter.Parse(spec, filter.Options{AllowExpr: true, Now: req.Now, Vars: expressions.Scope()})
		if err != nil {
			return p, err
		}
		p.Filter, p.Spec = f, spec
	}
	return p, nil
}
