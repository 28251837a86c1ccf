package crud

import (
	"bytes"
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// The limits of a mapReduce, in bytes.
const (
	// maxEmitBytes is what one call of map may emit (internalQueryMaxJsEmitBytes).
	maxEmitBytes = limits.OperatorBytes
	// maxReduceBytes is what one call of reduce gets.
	maxReduceBytes = limits.DocumentBytes
	// maxMapReduceBytes is what all groups together keep. What is more is reduced, which makes one value of each group.
	maxMapReduceBytes = limits.OperatorBytes
)

// The codes of MongoDB's checks of emit and reduce.
const (
	codeEmitArgs       = mongoerr.Code(31220)
	codeEmitTooMuch    = mongoerr.Code(31292)
	codeReduceTooLarge = mongoerr.Code(31392)
)

// mapReduce is one run of the command: its functions, which share an engine, and what they made so far.
type mapReduce struct {
	interp                   js.Interp
	mapper, reduce, finalize js.Routine // finalize is nil if there is none
	groups                   map[string]*emitted
	key                      []byte
	emits                    int // bytes of the running call of map
	kept                     int // bytes of all groups
	emitted                  int64
}

// emitted are the values of one key that wait to be reduced.
type emitted struct {
	sortKey []byte
	key     bsonx.Value
	values  []bsonx.Value
	bytes   int
}

func newMapReduce(req *command.Request) (*mapReduce, error) {
	interp, err := js.NewInterp(js.Options{
		Disabled: req.Service.NoScripting,
		Stored:   func() ([]bsonx.Doc, error) { return req.Service.Read.StoredScripts(req.Op, req.DB) },
	})
	if err != nil {
		return nil, err
	}
	m := &mapReduce{interp: interp, groups: map[string]*emitted{}}
	for it := req.Doc("scope").Iter(); it.Next(); {
		if err := interp.SetGlobal(string(it.Key()), it.Value()); err != nil {
			return nil, err
		}
	}
	if err := interp.Define("emit", m.emit); err != nil {
		return nil, err
	}
	if m.mapper, err = interp.Compile(req.Get("map").Str()); err != nil {
		return nil, err
	}
	if m.reduce, err = interp.Compile(req.Get("reduce").Str()); err != nil {
		return nil, err
	}
	if code := req.Get("finalize"); !code.IsNull() {
		m.finalize, err = interp.Compile(code.Str())
	}
	return m, err
}

// mapAll calls map for each document that a source yields.
func (m *mapReduce) mapAll(ctx context.Context, src source.Source) error {
	for {
		doc, err := src.Next(ctx)
		if err != nil || doc == nil {
			return err
		}
		m.emits = 0
		if err := m.interp.Run(ctx, m.mapper, bsonx.Document(doc)); err != nil {
			return err
		}
		if m.kept > maxMapReduceBytes {
			if err := m.shrink(ctx); err != nil {
				return err
			}
		}
	}
}

// emit is the function that map calls.
func (m *mapReduce) emit(args []bsonx.Value) error {
	if len(args) != 2 {
		return mongoerr.New(codeEmitArgs, "emit takes 2 args")
	}
	key, value := args[0], args[1]
	if key.Type == bsonx.TypeUndefined {
		key = bsonx.Null
	}
	if m.emits += len(key.Data) + len(value.Data); m.emits > maxEmitBytes {
		return mongoerr.New(codeEmitTooMuch, "Size of emitted values exceeds the set size limit of %d bytes", maxEmitBytes)
	}
	m.emitted++
	m.key = keystring.Append(m.key[:0], key, false)
	g := m.groups[string(m.key)]
	if g == nil {
		g = &emitted{sortKey: bytes.Clone(m.key), key: key.Clone()}
		m.groups[string(g.sortKey)] = g
		m.kept += 2*len(g.sortKey) + len(g.key.Data)
	}
	m.add(g, value)
	return nil
}

func (m *mapReduce) add(g *emitted, v bsonx.Value) {
	v = v.Clone()
	n := len(v.Data) + 32
	g.values = append(g.values, v)
	g.bytes += n
	m.kept += n
}

// shrink reduces all groups, for their values to take less memory.
func (m *mapReduce) shrink(ctx context.Context) error {
	for _, g := range m.groups {
		if err := m.reduceGroup(ctx, g); err != nil {
			return err
		}
	}
	if m.kept > maxMapReduceBytes {
		return mongoerr.New(mongoerr.ExceededMemoryLimit, "mapReduce used too much memory: its reduced values exceed %d bytes", maxMapReduceBytes)
	}
	return nil
}

// reduceGroup makes one value of a group's; a single one is not reduced. Many large values are reduced in several calls,
// each of which gets the result of the one before.
func (m *mapReduce) reduceGroup(ctx context.Context, g *emitted) error {
	for len(g.values) > 1 {
		n := 0
		list := bsonx.NewBuilder(nil)
		list.StartArray()
		for ; n < len(g.values) && list.Len()+len(g.values[n].Data)+len(g.key.Data) < maxReduceBytes; n++ {
			list.Elem(g.values[n])
		}
		list.End()
		if n < 2 {
			return mongoerr.New(codeReduceTooLarge, "Value too large to reduce")
		}
		v, err := m.interp.Call(ctx, m.reduce, bsonx.Missing, g.key, bsonx.Array(list.Bytes()))
		if err != nil {
			return err
		}
		rest := g.values[n:]
		m.kept -= g.bytes
		g.values, g.bytes = nil, 0
		m.add(g, v)
		for _, v := range rest {
			m.add(g, v)
		}
	}
	return nil
}

// results reduces and finalizes all groups, and returns their documents in the order of the keys.
func (m *mapReduce) results(ctx context.Context) ([]bsonx.Doc, error) {
	list := make([]*emitted, 0, len(m.groups))
	for _, g := range m.groups {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *emitted) int { return bytes.Compare(a.sortKey, b.sortKey) })
	docs := make([]bsonx.Doc, 0, len(list))
	for _, g := range list {
		if err := m.reduceGroup(ctx, g); err != nil {
			return nil, err
		}
		v, err := m.finalized(ctx, g.key, g.values[0])
		if err != nil {
			return nil, err
		}
		docs = append(docs, bsonx.NewDoc("_id", g.key, "value", v))
	}
	m.groups = nil
	return docs, nil
}

func (m *mapReduce) finalized(ctx context.Context, key, v bsonx.Value) (bsonx.Value, error) {
	if m.finalize == nil {
		return v, nil
	}
	return m.interp.Call(ctx, m.finalize, bsonx.Missing, key, v)
}
