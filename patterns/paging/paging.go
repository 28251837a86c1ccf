package paging

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// The errors of the package.
var (
	// ErrCursor is returned for a text or a cursor that does not fit the pager.
	ErrCursor = errors.New("paging: not a cursor of these pages")
	// ErrType is returned if a sort field of a document is an array, a regular expression or code.
	ErrType = errors.New("paging: a field has a type that documents cannot be paged by")
)

// DefaultSize is the default of Config.Size.
const DefaultSize = 20

// idField is the last field of every order.
const idField = "_id"

// Config selects the documents of the pages and their order. The zero value of Sort, Equal and
// Filter selects all documents in the order of their _id. Collection must be set.
type Config struct {
	patterns.Env
	// Collection is the name of the collection.
	Collection string
	// Sort has the fields of the order, each with 1 or -1. The pager adds _id as the last field, in
	// the direction of the field before it.
	Sort bson.D
	// Equal has fields and the values that these fields must have. They are the first fields of the
	// index.
	Equal bson.D
	// Filter is a further condition. The server also reads the documents that Filter excludes.
	Filter bson.D
	// Projection selects the fields of the items. It must include the fields of Sort, and _id.
	Projection bson.D
	// Size is the largest number of documents on a page; DefaultSize if zero.
	Size int
}

// Pager reads pages of documents of type T. It is safe for concurrent use.
type Pager[T any] struct {
	env  patterns.Env
	coll *mongo.Collection
	cfg  Config
	keys []key
}

// key is one field of the order.
type key struct {
	path string
	desc bool
}

// Page is a page of documents. The items are in the order of Config.Sort.
type Page[T any] struct {
	Items []T
	// Next is the cursor for the page after this one, and Prev is the cursor for the page before
	// it. They are nil if there was no such page when this page was read.
	Next, Prev *Cursor
}

// New returns a pager for a collection of db.
func New[T any](db *mongo.Database, cfg Config) (*Pager[T], error) {
	if cfg.Collection == "" {
		return nil, errors.New("paging: no collection given")
	}
	if cfg.Size < 0 {
		return nil, fmt.Errorf("paging: pages of %d documents", cfg.Size)
	}
	if cfg.Size == 0 {
		cfg.Size = DefaultSize
	}
	keys, err := keysOf(cfg.Sort)
	if err != nil {
		return nil, err
	}
	return &Pager[T]{env: cfg.WithDefaults(), coll: db.Collection(cfg.Collection), cfg: cfg, keys: keys}, nil
}

// keysOf returns the fields of an order, with _id as the last field.
func keysOf(sort bson.D) (keys []key, err error) {
	for _, e := range sort {
		desc := false
		switch e.Value {
		case 1, int32(1), int64(1), 1.0:
		case -1, int32(-1), int64(-1), -1.0:
			desc = true
		default:
			return nil, fmt.Errorf("paging: the direction of %s is %v, not 1 or -1", e.Key, e.Value)
		}
		keys = append(keys, key{path: e.Key, desc: desc})
		if e.Key == idField {
			return keys, nil
		}
	}
	desc := len(keys) > 0 && keys[len(keys)-1].desc
	return append(keys, key{path: idField, desc: desc}), nil
}

// First returns the first page.
func (p *Pager[T]) First(ctx context.Context) (*Page[T], error) { return p.read(ctx, nil, false) }

// Last returns the last page. Its items are in the same order as the items of all pages.
func (p *Pager[T]) Last(ctx context.Context) (*Page[T], error) { return p.read(ctx, nil, true) }

// After returns the page that begins after a cursor.
func (p *Pager[T]) After(ctx context.Context, c *Cursor) (*Page[T], error) {
	return p.read(ctx, c, false)
}

// Before returns the page that ends before a cursor.
func (p *Pager[T]) Before(ctx context.Context, c *Cursor) (*Page[T], error) {
	return p.read(ctx, c, true)
}

// read finds one document more than a page has. This document shows that there is another page.
func (p *Pager[T]) read(ctx context.Context, from *Cursor, backward bool) (*Page[T], error) {
	filter, err := p.filter(from, backward)
	if err != nil {
		return nil, err
	}
	opts := options.Find().SetSort(p.sort(backward)).SetLimit(int64(p.cfg.Size + 1))
	if p.cfg.Projection != nil {
		opts.SetProjection(p.cfg.Projection)
	}
	found, err := p.coll.Find(ctx, filter, opts)
	if err != nil {
		return nil, fmt.Errorf("paging: find in %s: %w", p.coll.Name(), err)
	}
	var docs []bson.Raw
	if err := found.All(ctx, &docs); err != nil {
		return nil, fmt.Errorf("paging: read %s: %w", p.coll.Name(), err)
	}
	more := len(docs) > p.cfg.Size
	if more {
		docs = docs[:p.cfg.Size]
	}
	if backward {
		slices.Reverse(docs)
	}
	page := &Page[T]{Items: make([]T, len(docs))}
	places := make([]*Cursor, len(docs))
	for i, doc := range docs {
		if places[i], err = p.place(doc); err != nil {
			return nil, err
		}
		if err := bson.Unmarshal(doc, &page.Items[i]); err != nil {
			return nil, fmt.Errorf("paging: decode a document of %s: %w", p.coll.Name(), err)
		}
	}
	page.setPlaces(places, from, more, backward)
	return page, nil
}

// setPlaces sets Next and Prev. more reports that there is another page in the direction in which
// this page was read. In the other direction, there is a page unless the walk began with this page.
func (p *Page[T]) setPlaces(items []*Cursor, from *Cursor, more, backward bool) {
	behind, before := more, from != nil
	if backward {
		behind, before = before, behind
	}
	// All documents on this side of the cursor were removed.
	if len(items) == 0 {
		items = []*Cursor{from}
	}
	if behind {
		p.Next = items[len(items)-1]
	}
	if before {
		p.Prev = items[0]
	}
}

// sort returns the sort document of a find.
func (p *Pager[T]) sort(backward bool) bson.D {
	var sort bson.D
	for _, k := range p.keys {
		direction := 1
		if k.desc != backward {
			direction = -1
		}
		sort = append(sort, bson.E{k.path, direction})
	}
	return sort
}

// Indexes returns the index that a pager needs. It returns nil if the pager uses only the index of
// _id.
func (p *Pager[T]) Indexes() []patterns.Index {
	var keys bson.D
	for _, e := range p.cfg.Equal {
		keys = append(keys, bson.E{e.Key, 1})
	}
	keys = append(keys, p.sort(false)...)
	// The index of _id always exists.
	if len(keys) == 1 {
		return nil
	}
	return []patterns.Index{{Collection: p.coll.Name(), Model: mongo.IndexModel{Keys: keys}}}
}

// EnsureIndexes creates the index that a pager needs.
func (p *Pager[T]) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, p.coll.Database(), p.Indexes())
}
