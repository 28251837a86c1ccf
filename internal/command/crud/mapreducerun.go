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

// The memory limits of a mapReduce, in bytes.
const (
	// maxEmitBytes limits the keys and values that one call of map emits
	// (internalQueryMaxJsEmitBytes).
	maxEmitBytes = limits.OperatorBytes
	// maxReduceBytes limits the key and the values of one call of reduce, and the results of an
	// inline mapReduce.
	maxReduceBytes = limits.DocumentBytes
	// maxMapReduceBytes limits the emitted values in memory. Over the limit, the values of each key
	// are reduced to one value.
	maxMapReduceBytes = limits.OperatorBytes
)

// The error codes of MongoDB for emit and reduce.
const (
	codeEmitArgs       = mongoerr.Code(31220)
	codeEmitTooMuch    = mongoerr.Code(31292)
	codeReduceTooLarge = mongoerr.Code(31392)
)

// mapReduce is a running mapReduce: its functions, which share a JavaScript engine, and the emitted
// values.
type mapReduce struct {
	interp                   js.Interp
	mapper, reduce, finalize js.Routine // finalize is nil if the command has no such function
	groups                   map[string]*emitted
	key                      []byte
	emits                    int // bytes emitted by the current call of map
	kept                     int // bytes of all groups
	emitted                  int64
}

// emitted holds the values of one key that are not reduced yet.
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

// mapAll calls the map function for each document of a source.
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

// emit implements the JavaScript function emit, which the map function calls.
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

// shrink reduces the values of every key to save memory. It fails if the reduced values are still
// over the limit.
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

// reduceGroup reduces the values of a key to one value. A single value is not reduced. If the
// values are too large for one call, the next call gets the result of the call before.
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

// results reduces and finalizes the values of all keys, and returns one document for each key, in
// key order.
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
