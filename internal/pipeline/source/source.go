package source

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Source yields documents. It is used by one goroutine, and closed once.
type Source interface {
	// Next returns the next document, nil at the end; a document is valid until the following call of any method.
	Next(ctx context.Context) (bsonx.Doc, error)
	// Save lets go of what holds storage, as between two batches of a cursor; Restore takes it up again.
	Save()
	Restore(ctx context.Context) error
	// Close ends the source and those it reads.
	Close()
}

// Input is what a source reads; embedded, it passes on what the source does not do itself.
type Input struct{ Src Source }

// Save implements Source.
func (i *Input) Save() { i.Src.Save() }

// Kept returns what the input keeps between two batches; see memory.KeptBy.
func (i *Input) Kept() int64 { return memory.KeptBy(i.Src) }

// Restore implements Source.
func (i *Input) Restore(ctx context.Context) error { return i.Src.Restore(ctx) }

// Close implements Source.
func (i *Input) Close() { i.Src.Close() }

// InMemory is embedded by sources that hold nothing but memory.
type InMemory struct{}

// Save implements Source.
func (InMemory) Save() {}

// Restore implements Source.
func (InMemory) Restore(context.Context) error { return nil }

// Close implements Source.
func (InMemory) Close() {}

// Slice yields documents that are in memory.
type Slice struct {
	InMemory
	Docs []bsonx.Doc
	next int
}

// Kept returns what the documents take that are left.
func (s *Slice) Kept() int64 { return BytesOf(s.Docs[s.next:]) }

// Next returns the next document.
func (s *Slice) Next(ctx context.Context) (bsonx.Doc, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.next >= len(s.Docs) {
		return nil, nil
	}
	s.next++
	return s.Docs[s.next-1], nil
}

// EmptyDocs yields N empty documents.
type EmptyDocs struct {
	InMemory
	N int64
	// Searched says that the documents stand for the results of a text search.
	Searched bool
}

// InterruptInterval is how many documents pass between two looks at the context.
const InterruptInterval = 1024

// Next returns the next document.
func (s *EmptyDocs) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.N%InterruptInterval == 0 && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if s.N == 0 {
		return nil, nil
	}
	s.N--
	return bsonx.Empty, nil
}

// Drain pulls a source to its end and calls f for each document.
func Drain(ctx context.Context, src Source, f func(bsonx.Doc) error) error {
	var meter interrupt.Meter
	for {
		doc, err := src.Next(ctx)
		if err != nil || doc == nil {
			return err
		}
		if err := meter.Passed(ctx, interrupt.Document+len(doc)); err != nil {
			return err
		}
		if err := f(doc); err != nil {
			return err
		}
	}
}

// Shared is a source whose documents several goroutines can read.
type Shared interface {
	Source
	// Share calls work with sources that yield the documents between them, each once and in no order, on several goroutines
	// where processors are idle. It returns how many took part: 0, without a call, where that cannot be done. After an error
	// Next yields all documents; otherwise the source is at its end.
	Share(ctx context.Context, work func(ctx context.Context, in Source) error) (workers int, err error)
}
