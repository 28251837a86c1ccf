package command

import (
	"context"
	"encoding/hex"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

// $out writes the results of a pipeline to a new collection that then takes the target's place in one step: readers see
// the old collection or the whole new one.

// The codes of MongoDB's checks of $out.
const (
	codeOutArgument = mongoerr.Code(16990)
	codeOutNotLast  = mongoerr.Code(40601)
)

// splitOut takes a final $out off a pipeline.
func splitOut(db string, stages []bsonx.Value) (rest []bsonx.Value, target *namespace, err error) {
	for i, stage := range stages {
		if stage.Type != bsonx.TypeDocument || string(stage.Doc().First().Key) != "$out" {
			continue
		}
		if i != len(stages)-1 {
			return nil, nil, mongoerr.New(codeOutNotLast, "$out can only be the final stage in the pipeline")
		}
		target, err = outTarget(db, stage.Doc().First().Value)
		return stages[:i], target, err
	}
	return stages, nil, nil
}

var outFields = []Field{
	{Name: "db", Type: String, Required: true}, {Name: "coll", Type: String, Required: true}, {Name: "timeseries", Type: Object},
}

func outTarget(db string, v bsonx.Value) (*namespace, error) {
	ns := &namespace{db: db}
	switch v.Type {
	case bsonx.TypeString:
		ns.name = v.Str()
	case bsonx.TypeDocument:
		err := ParseFields("$out", v.Doc(), outFields, func(i int, v bsonx.Value) error {
			switch outFields[i].Name {
			case "db":
				ns.db = v.Str()
			case "coll":
				ns.name = v.Str()
			default:
				return mongoerr.New(mongoerr.NotImplemented, "$out to a time series collection is not supported yet")
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	default:
		return nil, mongoerr.New(codeOutArgument, "$out only supports a string or object argument, but found %s", v.Type)
	}
	return ns, nil
}

// runOut writes what src yields to the target.
func (r *Request) runOut(ctx context.Context, src *stageSource, target *namespace) error {
	defer src.Close()
	old, err := r.writable(target.db, target.name)
	if err != nil {
		return err
	}
	out, err := r.newOut(ctx, target, old)
	if err != nil {
		return err
	}
	if err := r.fillOut(ctx, src, out); err != nil {
		if dropErr := r.Service.Store.Drop(out); dropErr != nil {
			r.Service.Logger.Error("Drop of an unfinished $out", "ns", out.Namespace(), "error", dropErr)
		}
		return err
	}
	return r.Service.Store.Rename(out, target.db, target.name, true)
}

// newOut makes a collection with the options and indexes of the one that it will replace.
func (r *Request) newOut(ctx context.Context, target *namespace, old *table.Collection) (*table.Collection, error) {
	options := bsonx.Empty
	var specs []bsonx.Doc
	if old != nil {
		options = old.Options
		for _, ix := range old.Indexes {
			specs = append(specs, ix.Spec)
		}
	}
	id := table.NewUUID()
	out, err := r.Service.Store.Create(target.db, "tmp.agg_out."+hex.EncodeToString(id[:]), catalog.KindCollection, options)
	if err != nil || len(specs) == 0 {
		return out, err
	}
	return out, r.Service.Store.CreateIndexes(ctx, out, specs)
}

// outBatch is how many documents $out writes at a time.
const outBatch = 500

func (r *Request) fillOut(ctx context.Context, src *stageSource, out *table.Collection) error {
	opts := r.writeOptions()
	for end := false; !end; {
		var docs []bsonx.Doc
		for len(docs) < outBatch {
			doc, err := src.Next(ctx)
			if err != nil {
				return err
			}
			if doc == nil {
				end = true
				break
			}
			prepared, err := update.PrepareInsert(doc.Clone(), nil, nil)
			if err != nil {
				return err
			}
			docs = append(docs, prepared)
		}
		if err := insertAll(ctx, r.Service.Writes, out, docs, opts); err != nil {
			return err
		}
	}
	return nil
}

// insertAll inserts documents and fails with the first error of any.
func insertAll(ctx context.Context, w *write.Executor, c *table.Collection, docs []bsonx.Doc, opts write.Options) error {
	if len(docs) == 0 {
		return nil
	}
	var failure error
	_, err := w.Insert(ctx, w.Only(c), docs, opts, func(_ int, err error) { failure = err })
	if err != nil {
		return err
	}
	return failure
}
