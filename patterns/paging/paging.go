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

// Errors of pages.
var (
	// ErrCursor is returned for a text that is no cursor of this pager.
	ErrCursor = errors.New("paging: this is no cursor of these pages")
	// ErrType is returned where a sort field of a document is an array, a regular expression or
	// code.
	ErrType = errors.New("paging: a field has a type that documents cannot be paged by")
)

// DefaultSize is how many documents a page has.
const DefaultSize = 20

// idField ends every order.
const idField = "_id"

// Config says what is shown. The zero value shows all documents by their _id.
type Config struct {
	patterns.Env
	// Collection is what is read.
	Collection string
	// Sort are the fields in order, with 1 or -1 each. Behind them comes _id, in the direction of
	// the last one.
	Sort bson.D
	// Equal are fields with the values that they must have. They are the first fields of the index.
	Equal bson.D
	// Filter is any further condition. Documents that it leaves out are read all the same.
	Filter bson.D
	// Projection chooses fields. It must leave the fields of Sort and _id in.
	Projection bson.D
	// Size is how many documents a page has; DefaultSize if zero.
	Size int
}

// Pager reads pages of documents of type T. It is safe for concurrent use.
type Pager[T any] struct {
	env  patterns.Env
	coll *mongo.Collection
	cfg  Config
	keys []key
}

// key is a field of the order.
type key struct {
	path string
	desc bool
}

// Page is a part of the documents in their order.
type Page[T any] struct {
	Items []T
	// Next and Prev are the places behind the last and before the first item; nil where there is
	// nothing more, as far as was known when the page was read.
	Next, Prev *Cursor
}

// New returns a pager of a database's collection.
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

// keysOf reads an order and ends it with _id.
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

// Last returns the last page. Its items are in the order of all pages.
func (p *Pager[T]) Last(ctx context.Context) (*Page[T], error) { return p.read(ctx, nil, true) }

// After returns the page behind a place.
func (p *Pager[T]) After(ctx context.Context, c *Cursor) (*Page[T], error) {
	return p.read(ctx, c, false)
}

// Before returns the page before a place.
func (p *Pager[T]) Before(ctx context.Context, c *Cursor) (*Page[T], error) {
	return p.read(ctx, c, true)
}

// read finds one document more than a page has, which tells whether there is another page.
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

// setPlaces sets where a page's neighbours are. In the direction that it was read, more says
// whether there is one; in the other there is one if the page was not the first of its walk.
func (p *Page[T]) setPlaces(items []*Cursor, from *Cursor, more, backward bool) {
	behind, before := more, from != nil
	if backward {
		behind, before = before, behind
	}
	if len(items) == 0 { // what was on this side of the place is gone
		items = []*Cursor{from}
	}
	if behind {
		p.Next = items[len(items)-1]
	}
	if before {
		p.Prev = items[0]
	}
}

// sort is the order in which documents are found.
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

// Indexes returns the index that the pages are read by.
func (p *Pager[T]) Indexes() []patterns.Index {
	var keys bson.D
	for _, e := range p.cfg.Equal {
		keys = append(keys, bson.E{e.Key, 1})
	}
	keys = append(keys, p.sort(false)...)
	if len(keys) == 1 { // _id has one
		return nil
	}
	return []patterns.Index{{Collection: p.coll.Name(), Model: mongo.IndexModel{Keys: keys}}}
}

// EnsureIndexes creates the index that the pages are read by.
func (p *Pager[T]) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, p.coll.Database(), p.Indexes())
}
