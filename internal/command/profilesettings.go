package command

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// slowPolicy says which operations are logged, beside slowms: the arguments of the command profile. It is immutable.
type slowPolicy struct {
	// sampleRate is the share of the slow operations that is logged.
	sampleRate float64
	// filter, where not nil, decides alone: slowms and sampleRate do not count then.
	filter *filter.Filter
	spec   bsonx.Doc
}

// logs reports whether an operation is logged that took so long and is described by entry.
func (p *slowPolicy) logs(took time.Duration, slowMillis int64, entry func() bsonx.Doc) bool {
	if p.filter != nil {
		ok, err := p.filter.Match(entry())
		return ok && err == nil
	}
	if slowMillis < 0 || took < time.Duration(slowMillis)*time.Millisecond {
		return false
	}
	return p.sampleRate >= 1 || rand.Float64() < p.sampleRate
}

// maxProfileLevel is the profiler's highest level.
const maxProfileLevel = 2

// RunProfile runs the command profile.
func RunProfile(_ context.Context, req *Request, reply *bsonx.Builder) error {
	v := req.CommandValue()
	if !v.Type.IsNumber() {
		return WrongType("profile.profile", v.Type, SafeInt)
	}
	level := SaturatingInt64(v)
	if level > 0 && level <= maxProfileLevel {
		return mongoerr.New(mongoerr.NotImplemented, "the profiler is not implemented by Sheaf yet; slow operations are logged")
	}
	if level > maxProfileLevel {
		return mongoerr.New(mongoerr.BadValue, "profiling level must be one of -1, 0, 1, 2")
	}
	s := req.Service
	was := s.slowPolicy.Load()
	next, err := changedPolicy(*was, req)
	if err != nil {
		return err
	}
	reply.Int32("was", 0)
	reply.Int32("slowms", int32(s.slow.Load()))
	reply.Double("sampleRate", was.sampleRate)
	if was.filter != nil {
		reply.Doc("filter", was.spec)
		reply.String("note", "When a filter expression is set, slowms and sampleRate are not used for profiling and slow-query log lines.")
	}
	s.slowPolicy.Store(&next)
	if req.Has("slowms") {
		s.SetSlowMillis(req.Int64("slowms", defaultSlowMillis))
	}
	return nil
}

// changedPolicy returns the policy with what a profile command sets of it.
func changedPolicy(p slowPolicy, req *Request) (slowPolicy, error) {
	if req.Has("sampleRate") {
		rate, _ := req.Get("sampleRate").AsFloat64()
		if !(rate >= 0 && rate <= 1) {
			return p, mongoerr.New(mongoerr.BadValue, "'sampleRate' must be between 0.0 and 1.0 inclusive")
		}
		p.sampleRate = rate
	}
	switch v := req.Get("filter"); {
	case v.IsMissing():
	case v.Type == bsonx.TypeString && v.Str() == "unset":
		p.filter, p.spec = nil, nil
	case v.Type == bsonx.TypeString:
		return p, mongoerr.New(mongoerr.BadValue, "Expected an object, or the string 'unset'.")
	default:
		spec := v.Doc().Clone()
		f, err := filter.Parse(spec, filter.Options{AllowExpr: true, Now: req.Now, Vars: expressions.Scope()})
		if err != nil {
			return p, err
		}
		p.filter, p.spec = f, spec
	}
	return p, nil
}

// slowEntry describes an operation as MongoDB's profiler does, for the filter of profile.
func slowEntry(req *Request, took time.Duration, err error) bsonx.Doc {
	d := &req.Conn.Op.Debug
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("op", kindOf(req))
	b.String("ns", req.namespace())
	if !req.Def.Secret {
		b.Doc("command", req.Body)
	}
	if d.PlanSummary != nil {
		b.String("planSummary", d.PlanSummary.Summary())
	}
	for _, n := range d.Counts() {
		if n.Value >= 0 {
			b.Int64(n.Name, n.Value)
		}
	}
	if err != nil {
		e := mongoerr.CodeOf(err)
		b.String("errMsg", err.Error())
		b.String("errName", e.Name())
		b.Int32("errCode", int32(e))
	}
	b.Int64("responseLength", int64(d.ResponseLength))
	b.Int64("millis", took.Milliseconds())
	b.Date("ts", req.Now.UnixMilli())
	b.String("client", req.Conn.Remote)
	b.String("appName", req.Conn.ClientApp)
	b.End()
	return b.Bytes()
}
