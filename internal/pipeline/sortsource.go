package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/extsort"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// sortingSource reads and sorts its whole input before it yields the first document.
type sortingSource struct {
	source.Input
	env   *source.Env
	limit int64
	key   func(dst []byte, doc bsonx.Doc) ([]byte, error)
	// pattern is the sort pattern that key was made from. It is nil for keys that are always small.
	pattern index.Pattern
	// noted makes the sort keys that are stored as metadata. It is nil if no stage reads them.
	noted  *index.MetaSortGen
	sorter *extsort.Sorter
	entry  extsort.Entry
	kept   source.KeptMeta
}

// Kept implements memory.Keeper.
func (s *sortingSource) Kept() int64 {
	kept := s.Input.Kept()
	if s.sorter != nil {
		kept += s.sorter.Uncounted()
	}
	return kept
}

// Next implements source.Source.
func (s *sortingSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.sorter == nil {
		s.sorter = s.env.NewSorter(s.limit)
		if s.env != nil && s.env.Sorts != nil {
			s.env.Sorts(ctx)
		}
		if err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	if ok, err := s.sorter.Next(&s.entry); !ok || err != nil {
		return nil, err
	}
	return s.kept.Split(s.entry.Body), nil
}

// Meta implements source.MetaSource.
func (s *sortingSource) Meta() *expr.Meta {
	return s.kept.Meta()
}

// meta returns the metadata of an input document. If noted is set, it contains the sort key of this
// sort and not of an earlier one.
func (s *sortingSource) meta(doc bsonx.Doc) (*expr.Meta, error) {
	m := source.MetaOf(s.Src)
	if s.noted == nil {
		return m, nil
	}
	values, err := s.noted.Values(doc, m.SortMeta())
	if err != nil {
		return nil, err
	}
	out := expr.Meta{}
	if m != nil {
		out = *m
	}
	out.SortKey = bsonx.ValueOf(values)
	return &out, nil
}

func (s *sortingSource) load(ctx context.Context) error {
	var key []byte
	err := source.Drain(ctx, s.Src, func(doc bsonx.Doc) error {
		if len(doc) >= source.LargeDocument {
			room := s.pattern.KeyRoom(doc)
			if s.noted != nil {
				room *= 2
			}
			if err := s.sorter.Reserve(ctx, len(doc)+room); err != nil {
				return err
			}
		}
		var err error
		if key, err = s.key(source.Idle(key)[:0], doc); err != nil {
			return err
		}
		meta, err := s.meta(doc)
		if err != nil {
			return err
		}
		return s.sorter.Add(ctx, &extsort.Entry{Key: key, Body: s.kept.JoinMeta(doc, meta)})
	})
	if err != nil {
		return err
	}
	return s.sorter.Finish(ctx)
}

// Close implements source.Source.
func (s *sortingSource) Close() {
	s.sorter.Close()
	s.Input.Close()
}
