package changelog

import (
	"bytes"
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Replay calls apply with the entries, in order, that follow a point of the history, up to the
// stamp at. It passes all entries of one transaction in one call. It fails with ErrPastGone if some
// of the entries may have been removed. The entries are borrowed until apply returns.
func (h *History[V]) Replay(ctx context.Context, p *Point[V], at storage.Stamp,
	apply func(entries []bsonx.Doc) error,
) error {
	snap := h.log.engine.NewSnapshot()
	defer snap.Close()
	if h.log.Trimmed() > p.Visible {
		return ErrPastGone
	}
	from, end := h.log.Key(nil, p.Visible+1), h.log.Key(nil, at+1)
	newest, err := snap.NewIter(from, end)
	if err != nil {
		return err
	}
	defer newest.Close()
	had, err := p.NewIter(from, end)
	if err != nil {
		return err
	}
	defer had.Close()
	var chain []bsonx.Doc // entries of a transaction whose last entry was not reached yet
	inPoint := had.First()
	for ok, n := newest.First(), 1; ok; ok, n = newest.Next(), n+1 {
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if inPoint && bytes.Equal(had.Key(), newest.Key()) {
			inPoint = had.Next()
			continue
		}
		entry, err := newest.Value()
		if err != nil {
			return err
		}
		if bsonx.Doc(entry).LookupPath("o", "partialTxn").Truthy() {
			chain = append(chain, bsonx.Doc(entry).Clone())
			continue
		}
		if err := apply(append(chain, entry)); err != nil {
			return err
		}
		chain = nil
	}
	return errors.Join(newest.Err(), had.Err())
}
