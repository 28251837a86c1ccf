package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// documentSize is the size of each document as BSON, in bytes.
	documentSize = 1024
	// idOffset is the position of the value of _id in a BSON document. The length of the document,
	// and the type and the name of the field come before the value.
	idOffset = 4 + 1 + len("_id\x00")
	// groups is the number of different values of the field g, categories the number of different
	// values of the field c.
	groups     = 1000
	categories = 50
	// uniform is the number of different values of the field u.
	uniform = 1_000_000
	// rareBelow is a bound for the field u: one document in a thousand has a smaller value.
	rareBelow = uniform / 1000
	// stride permutes positions: position i becomes i * stride % size. stride is a prime, so this
	// is a permutation for every size that is not a multiple of stride.
	stride = 7919
)

// dataset describes the documents. Document i is the same in every run and on every side.
//
//	_id  i                       n  counter, 0
//	s    unique text, indexed    r  unique number, a permutation of the positions, indexed
//	g    one of 1000, indexed with r descending
//	c    one of 50, indexed      u  random number, not indexed
//	p1 p2 p3                     text that fills the document up to 1 KB
type dataset struct{ size int }

// half is the number of documents in the collection for the sort workloads.
func (d dataset) half() int { return d.size / 2 }

func (d dataset) permuted(i int) int { return i * stride % d.size }

func (d dataset) text(i int) string { return fmt.Sprintf("user%08d", d.permuted(i)) }

// perGroup is the least number of documents that share a value of g.
func (d dataset) perGroup() int { return d.size / groups }

func (d dataset) fields(i int) bson.D {
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	doc := bson.D{
		{"_id", int64(i)},
		{"n", int64(0)},
		{"s", d.text(i)},
		{"r", int64(d.permuted(i))},
		{"g", int64(i % groups)},
		{"c", fmt.Sprintf("category%02d", i%categories)},
		{"u", rng.Int64N(uniform)},
	}
	// The three texts share the bytes that remain of documentSize. The other fields and the
	// document's frame take 100 bytes, and the frame of each text 9 bytes.
	const rest = documentSize - 100 - 3*9
	lengths := [3]int{rest / 4, rest / 4, rest - 2*(rest/4)}
	for j, n := range lengths {
		doc = append(doc, bson.E{fmt.Sprintf("p%d", j+1), letters(rng, n)})
	}
	return doc
}

// letters returns random lower-case text with some spaces. The text compresses about as well as
// prose if it is compressed in small blocks.
func letters(rng *rand.Rand, n int) string {
	const alphabet = "eeeetttaaooiinnsshhrrdlcum wfgypbvk"
	var b strings.Builder
	b.Grow(n)
	for range n {
		b.WriteByte(alphabet[rng.IntN(len(alphabet))])
	}
	return b.String()
}

// document returns document i as BSON.
func (d dataset) document(i int) (bson.Raw, error) {
	raw, err := bson.Marshal(d.fields(i))
	if err != nil {
		return nil, err
	}
	if len(raw) != documentSize {
		return nil, fmt.Errorf("document %d has %d bytes, not %d", i, len(raw), documentSize)
	}
	return raw, nil
}

// json returns document i as JSON, without its _id.
func (d dataset) json(i int) ([]byte, error) {
	m := make(map[string]any, 9)
	for _, e := range d.fields(i)[1:] {
		m[e.Key] = e.Value
	}
	return json.Marshal(m)
}

// setID replaces the _id of a document in place.
func setID(doc bson.Raw, id int64) { binary.LittleEndian.PutUint64(doc[idOffset:], uint64(id)) }
