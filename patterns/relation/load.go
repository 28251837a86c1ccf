package relation

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// loadBatch is the largest number of ids in one query.
const loadBatch = 1000

// Children returns the documents of coll that refer to any of the parents, grouped by parent. field
// is the field with the reference, which may be an array. Children sends one query for 1,000
// parents instead of one for each. of returns the parents of a document. The field should have an
// index.
func Children[K comparable, T any](ctx context.Context, coll *mongo.Collection, field string, parents []K,
	of func(T) []K,
) (map[K][]T, error) {
	out := map[K][]T{}
	for batch := range slices.Chunk(unrepeated(parents), loadBatch) {
		asked := map[K]bool{}
		for _, p := range batch {
			asked[p] = true
		}
		docs, err := in[T](ctx, coll, field, batch)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			for _, p := range unrepeated(of(doc)) {
				if asked[p] {
					out[p] = append(out[p], doc)
				}
			}
		}
	}
	return out, nil
}

// Load returns the documents with the given _ids. It sends one query for 1,000 ids. The result does
// not contain ids without a document. id returns the _id of a document.
func Load[K comparable, T any](ctx context.Context, coll *mongo.Collection, ids []K, id func(T) K) (map[K]T, error) {
	out := map[K]T{}
	for batch := range slices.Chunk(unrepeated(ids), loadBatch) {
		docs, err := in[T](ctx, coll, "_id", batch)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			out[id(doc)] = doc
		}
	}
	return out, nil
}

func in[T, K any](ctx context.Context, coll *mongo.Collection, field string, values []K) (out []T, err error) {
	found, err := coll.Find(ctx, bson.D{{field, bson.D{{"$in", values}}}})
	if err == nil {
		err = found.All(ctx, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("relation: load from %s by %s: %w", coll.Name(), field, err)
	}
	return out, nil
}

func unrepeated[K comparable](list []K) (out []K) {
	seen := make(map[K]bool, len(list))
	for _, k := range list {
		if !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

// Loader loads documents by _id and remembers them, so that each is read only once. Create one for
// each request. It is safe for concurrent use.
type Loader[K comparable, T any] struct {
	coll  *mongo.Collection
	id    func(T) K
	mu    sync.Mutex
	known map[K]*T
}

// NewLoader returns an empty Loader. id returns the _id of a document.
func NewLoader[K comparable, T any](coll *mongo.Collection, id func(T) K) *Loader[K, T] {
	return &Loader[K, T]{coll: coll, id: id, known: map[K]*T{}}
}

// Many returns documents in the order of their ids. An entry is nil if the document does not exist.
func (l *Loader[K, T]) Many(ctx context.Context, ids ...K) ([]*T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var unknown []K
	for _, id := range ids {
		if _, ok := l.known[id]; !ok {
			unknown = append(unknown, id)
		}
	}
	docs, err := Load(ctx, l.coll, unknown, l.id)
	if err != nil {
		return nil, err
	}
	for _, id := range unknown {
		l.known[id] = nil
		if doc, ok := docs[id]; ok {
			l.known[id] = &doc
		}
	}
	out := make([]*T, len(ids))
	for i, id := range ids {
		out[i] = l.known[id]
	}
	return out, nil
}
