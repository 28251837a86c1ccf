package source

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Source yields documents. It is used by one goroutine and must be closed once.
type Source interface {
	// Next returns the next document, or nil at the end. The document is valid until the next call
	// of any method.
	Next(ctx context.Context) (bsonx.Doc, error)
	// Save releases references to storage, for example between two batches of a cursor.
	Save()
	// Restore acquires the references again that Save has released. It is called before the next
	// call of Next.
	Restore(ctx context.Context) error
	// Close closes the source and the sources that it reads.
	Close()
}

// Input is the source that another source reads. Embedding it forwards all methods of Source except
// Next.
type Input struct{ Src Source }

// Save implements Source.
func (i *Input) Save() { i.Src.Save() }

// Kept implements memory.Keeper: it returns the bytes that the input keeps between two batches.
func (i *Input) Kept() int64 { return memory.KeptBy(i.Src) }

// Restore implements Source.
func (i *Input) Restore(ctx context.Context) error { return i.Src.Restore(ctx) }

// Close implements Source.
func (i *Input) Close() { i.Src.Close() }

// InMemory is embedded by sources that need no storage. Its methods do nothing.
type InMemory struct{}

// Save implements Source.
func (InMemory) Save() {}

// Restore implements Source.
func (InMemory) Restore(context.Context) error { return nil }

// Close implements Source.
func (InMemory) Close() {}

// Slice yields the documents of a slice.
type Slice struct {
	InMemory
	Docs []bsonx.Doc
	next int
}

// Kept returns the number of bytes of the documents that are not returned yet.
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
	// Searched marks the documents as results of a text search.
	Searched bool
}

// InterruptInterval is the number of documents between two checks of the context.
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

// Drain reads src to its end and calls f for each document. It does not close src.
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

// Shared is a source whose documents several goroutines can read together.
type Shared interface {
	Source
	// Share calls work on several goroutines if processors are idle, each time with another source.
	// Together the sources yield every document once, in any order. workers is the number of calls;
	// 0 means that sharing is not possible and work was not called. After an error, Next still
	// yields all documents. Without an error the source is at its end.
	Share(ctx context.Context, work func(ctx context.Context, in Source) error) (workers int, err error)
}
