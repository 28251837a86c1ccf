package pipeline

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// group is $group. Groups come out in the order in which their first documents came in.
type group struct {
	id     expr.Expr
	names  []string
	fields []*expr.Accumulation
	opts   Options
}

func parseGroup(arg bsonx.Value, opts Options) ([]stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(15947, "a group's fields must be specified in an object")
	}
	g := &group{opts: opts}
	for it := arg.Doc().Iter(); it.Next(); {
		var err error
		if name := string(it.Key()); name == "_id" {
			if g.id != nil {
				return nil, mongoerr.New(15948, "a group's _id may only be specified once")
			}
			g.id, err = expr.Parse(it.Value(), opts.Vars)
		} else {
			err = g.addField(name, it.Value())
		}
		if err != nil {
			return nil, err
		}
	}
	if g.id == nil {
		return nil, mongoerr.New(15955, "a group specification must include an _id")
	}
	return []stage{g}, nil
}

func (g *group) addField(name string, v bsonx.Value) error {
	switch {
	case strings.Contains(name, "."):
		return mongoerr.New(40235, "The field name '%s' cannot contain '.'", name)
	case strings.HasPrefix(name, "$"):
		return mongoerr.New(40236, "The field name '%s' cannot be an operator name", name)
	case v.Type != bsonx.TypeDocument || v.Doc().IsEmpty():
		return mongoerr.New(40234, "The field '%s' must be an accumulator object", name)
	case v.Doc().Len() != 1:
		return mongoerr.New(40238, "The field '%s' must specify one accumulator", name)
	}
	op := v.Doc().First()
	if !strings.HasPrefix(string(op.Key), "$") {
		return mongoerr.New(40234, "The field '%s' must be an accumulator object", name)
	}
	acc, err := expr.ParseAccumulator(string(op.Key), op.Value, g.opts.Vars)
	if err != nil {
		return err
	}
	g.names = append(g.names, name)
	g.fields = append(g.fields, acc)
	return nil
}

func (g *group) open(src Source, env *Env) Source {
	return &groupSource{input: input{src}, group: g, limit: env.memoryLimit()}
}

type bucket struct {
	id     bsonx.Value
	values []expr.Accumulator
}

type groupSource struct {
	input
	limit   int
	group   *group
	loaded  bool
	buckets []*bucket
	index   map[string]*bucket
	bytes   int
	next    int
	key     []byte
	out     *bsonx.Builder
}

func (s *groupSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if !s.loaded {
		s.loaded = true
		s.index = map[string]*bucket{}
		s.out = bsonx.NewBuilder(nil)
		ectx := &expr.Context{Now: s.group.opts.Now}
		if err := Drain(ctx, s.src, func(doc bsonx.Doc) error { return s.add(ectx, doc) }); err != nil {
			return nil, err
		}
	}
	if s.next == len(s.buckets) {
		return nil, nil
	}
	b := s.buckets[s.next]
	s.buckets[s.next] = nil
	s.next++
	s.out.Reset(s.out.Bytes()[:0])
	s.out.StartDoc()
	s.out.Value("_id", b.id)
	for i, acc := range b.values {
		s.out.Value(s.group.names[i], acc.Result())
	}
	s.out.End()
	return s.out.Bytes(), nil
}

func (s *groupSource) add(ctx *expr.Context, doc bsonx.Doc) error {
	ctx.Root = bsonx.Document(doc)
	id, err := s.group.id.Eval(ctx)
	if err != nil {
		return err
	}
	b := s.bucket(id)
	for i, acc := range b.values {
		v, err := s.group.fields[i].Arg.Eval(ctx)
		if err != nil {
			return err
		}
		before := acc.Bytes()
		if err := acc.Add(v); err != nil {
			return err
		}
		s.bytes += acc.Bytes() - before
	}
	if s.bytes > s.limit {
		return mongoerr.New(mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed,
			"Exceeded memory limit for $group, but didn't allow external sort. Pass allowDiskUse:true to opt in. Memory limit: %d bytes", s.limit)
	}
	return nil
}

func (s *groupSource) bucket(id bsonx.Value) *bucket {
	if id.IsMissing() {
		id = bsonx.Null
	}
	s.key = appendGroupKey(s.key[:0], id)
	if b, ok := s.index[string(s.key)]; ok {
		return b
	}
	b := &bucket{id: id.Clone(), values: make([]expr.Accumulator, len(s.group.fields))}
	for i, f := range s.group.fields {
		b.values[i] = f.New()
		s.bytes += b.values[i].Bytes()
	}
	s.bytes += len(s.key) + len(id.Data) + 64
	s.index[string(s.key)] = b
	s.buckets = append(s.buckets, b)
	return b
}
