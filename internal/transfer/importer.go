package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	// batchDocuments and batchBytes limit a batch.
	batchDocuments = 1000
	batchBytes     = 8 << 20
	// sendPatience is how long a batch may take to finish after an interrupt. If it finishes, the
	// state of the collection is known.
	sendPatience = 10 * time.Second
)

// Importer puts the documents of a Reader into a collection.
type Importer struct {
	Collection *mongo.Collection
	// UpsertFields are dotted paths. A document with equal values at them is replaced. Without
	// UpsertFields, or if a document has none of these fields, the document is inserted.
	UpsertFields []string
	// Report is called for every record that was not imported.
	Report func(line int, err error)
	// Progress is called after every batch with the number of records processed.
	Progress func(done int64)
}

// Result counts records.
type Result struct {
	Inserted int64 // new documents
	Replaced int64 // documents found by UpsertFields
	Failed   int64 // records that were not imported
}

// interruption means that an import ended before the end of its file.
type interruption struct {
	From  int // line of the first record that was not imported, or 0 if all records read were imported
	Batch int // if not 0, a batch did not finish: records from this line on may have been imported
	Err   error
}

// Error says where the import ended.
func (e *interruption) Error() string {
	switch {
	case e.Batch > 0:
		return fmt.Sprintf("it is not known which of the records from line %d on went in", e.Batch)
	case e.From > 0:
		return fmt.Sprintf("no record from line %d on went in", e.From)
	default:
		return "no further record was read"
	}
}

// Unwrap returns the error of the context.
func (e *interruption) Unwrap() error { return e.Err }

// Run imports all documents of r. If ctx ends, it finishes a batch that is being sent, and returns
// an *interruption.
func (im *Importer) Run(ctx context.Context, r Reader) (Result, error) {
	var res Result
	b := &batch{}
	for {
		doc, line, err := r.Next()
		var bad *recordError
		switch {
		case ctx.Err() != nil:
			// The end of the file may have been caused by the signal, which may have ended the
			// program that writes the file. So it does not count as success.
			if err == nil || errors.As(err, &bad) {
				b.add(nil, line)
			}
			return res, b.interrupted(ctx)
		case errors.Is(err, io.EOF):
			return res, im.send(ctx, b, &res)
		case errors.As(err, &bad):
			im.fail(&res, bad.Line, bad.Err)
			continue
		case err != nil:
			return res, errors.Join(im.send(ctx, b, &res), err)
		}
		if im.hasKey(doc) && isUpdate(doc) {
			im.fail(&res, line, errors.New("a document that replaces another one cannot begin with a name that begins with $"))
			continue
		}
		b.add(doc, line)
		if b.full() {
			if err := im.send(ctx, b, &res); err != nil {
				return res, err
			}
		}
	}
}

// isUpdate reports whether the driver would treat doc as a document of update operators. The driver
// rejects a whole batch because of one such document.
func isUpdate(doc bson.Raw) bool {
	first, err := doc.IndexErr(0)
	return err == nil && strings.HasPrefix(first.Key(), "$")
}

// interrupted returns an *interruption for the records that were read but not sent.
func (b *batch) interrupted(ctx context.Context) error {
	e := &interruption{Err: ctx.Err()}
	if len(b.lines) > 0 {
		e.From = b.lines[0]
	}
	return e
}

func (im *Importer) fail(res *Result, line int, err error) {
	res.Failed++
	if im.Report != nil {
		im.Report(line, err)
	}
}

// batch has documents that are sent together.
type batch struct {
	docs  []bson.Raw
	lines []int
	bytes int
}

func (b *batch) add(doc bson.Raw, line int) {
	b.docs = append(b.docs, doc)
	b.lines = append(b.lines, line)
	b.bytes += len(doc)
}

func (b *batch) full() bool { return len(b.docs) >= batchDocuments || b.bytes >= batchBytes }

// send writes a batch and empties it.
func (im *Importer) send(ctx context.Context, b *batch, res *Result) error {
	if len(b.docs) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return b.interrupted(ctx)
	}
	sending, done := patient(ctx)
	defer done()
	out, err := im.Collection.BulkWrite(sending, im.models(b), options.BulkWrite().SetOrdered(false))
	var bulk mongo.BulkWriteException
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return &interruption{Batch: b.lines[0], Err: err}
	}
	if err != nil && !errors.As(err, &bulk) {
		return fmt.Errorf("records from line %d on: %w", b.lines[0], err)
	}
	for _, e := range bulk.WriteErrors {
		im.fail(res, b.lines[e.Index], errors.New(e.Message))
	}
	if bulk.WriteConcernError != nil {
		return fmt.Errorf("records from line %d on: %w", b.lines[0], bulk.WriteConcernError)
	}
	if out != nil {
		res.Inserted += out.InsertedCount + out.UpsertedCount
		res.Replaced += out.MatchedCount
	}
	b.docs, b.lines, b.bytes = b.docs[:0], b.lines[:0], 0
	if im.Progress != nil {
		im.Progress(res.Inserted + res.Replaced + res.Failed)
	}
	return nil
}

// patient returns a context for a write. It ends sendPatience after ctx.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	write, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(sendPatience, cancel) })
	return write, func() {
		stop()
		cancel()
	}
}

func (im *Importer) models(b *batch) []mongo.WriteModel {
	models := make([]mongo.WriteModel, len(b.docs))
	for i, doc := range b.docs {
		if !im.hasKey(doc) {
			models[i] = mongo.NewInsertOneModel().SetDocument(doc)
			continue
		}
		models[i] = mongo.NewReplaceOneModel().SetFilter(im.key(doc)).SetReplacement(doc).SetUpsert(true)
	}
	return models
}

// hasKey reports whether doc has one of the UpsertFields. A document without any of them must not
// replace a document, because it would replace the one that was imported before it.
func (im *Importer) hasKey(doc bson.Raw) bool {
	return slices.ContainsFunc(im.UpsertFields, func(field string) bool {
		_, err := doc.LookupErr(splitPath(field)...)
		return err == nil
	})
}

// key returns the filter that finds the document to replace. A field that doc lacks must be missing
// in that document, too.
func (im *Importer) key(doc bson.Raw) bson.D {
	filter := bson.D{}
	for _, field := range im.UpsertFields {
		v, err := doc.LookupErr(splitPath(field)...)
		if err != nil {
			filter = append(filter, bson.E{field, bson.D{{"$exists", false}}})
			continue
		}
		equal := bson.D{{"$eq", v}}
		if v.Type == bson.TypeNull {
			equal = append(equal, bson.E{"$exists", true}) // null alone would also find missing fields
		}
		filter = append(filter, bson.E{field, equal})
	}
	return filter
}
