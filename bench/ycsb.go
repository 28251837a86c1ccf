package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Workload E of the Yahoo! Cloud Serving Benchmark: 95 % range scans of 1 to 100 documents from a
// key on, and 5 % inserts. Some keys are asked for far more often than others (zipfian), and keys
// that follow each other are unrelated: the number of a document is hashed to its key.
const (
	scanTable = "ycsb"
	// scanMost is the largest number of documents of a scan; scanMean documents are the answer of
	// the do-nothing server.
	scanMost      = 100
	scanMean      = scanMost / 2
	insertPercent = 5
	scanFields    = 10
	// keyDigits make every key as long as the others.
	keyDigits = 20
	zipfTheta = 0.99
)

// scanKey returns the key of document i.
func scanKey(i int64) string {
	h := fnv.New64a()
	var b [8]byte
	for j := range b {
		b[j] = byte(i >> (8 * j))
	}
	_, _ = h.Write(b[:])
	return fmt.Sprintf("user%0*d", keyDigits, h.Sum64())
}

// scanFieldsOf returns the fields of document i after its _id: text that makes it as large as the
// other documents.
func scanFieldsOf(i int) bson.D {
	// The frames take 5 bytes and 9 a field but for its name, the _id 10 bytes and its key.
	const rest = documentSize - 5 - 10 - (len("user") + keyDigits) - scanFields*(7+len("field0"))
	rng := rand.New(rand.NewPCG(uint64(i), 2))
	doc := make(bson.D, 0, scanFields)
	for f := range scanFields {
		n := rest / scanFields
		if f == 0 {
			n += rest % scanFields
		}
		doc = append(doc, bson.E{"field" + strconv.Itoa(f), letters(rng, n)})
	}
	return doc
}

// scanDocument returns document i with a key.
func scanDocument(i int, key string) (bson.Raw, error) {
	raw, err := bson.Marshal(append(bson.D{{"_id", key}}, scanFieldsOf(i)...))
	if err == nil && len(raw) != documentSize {
		return nil, fmt.Errorf("document %d of the scans has %d bytes, not %d", i, len(raw), documentSize)
	}
	return raw, err
}

// scanJSON returns document i without its key as JSON.
func scanJSON(i int) ([]byte, error) {
	m := make(map[string]any, scanFields)
	for _, e := range scanFieldsOf(i) {
		m[e.Key] = e.Value
	}
	return json.Marshal(m)
}

// zipf draws numbers below n, of which few are drawn often (Gray et al., Quickly generating
// billion-record synthetic databases).
type zipf struct{ n, zeta, alpha, eta float64 }

func newZipf(n int) *zipf {
	zeta := func(n int) float64 {
		var sum float64
		for i := 1; i <= n; i++ {
			sum += math.Pow(float64(i), -zipfTheta)
		}
		return sum
	}
	z := &zipf{n: float64(n), zeta: zeta(n), alpha: 1 / (1 - zipfTheta)}
	z.eta = (1 - math.Pow(2/z.n, 1-zipfTheta)) / (1 - zeta(2)/z.zeta)
	return z
}

func (z *zipf) draw(rng *rand.Rand) int64 {
	u := rng.Float64()
	switch uz := u * z.zeta; {
	case uz < 1:
		return 0
	case uz < 1+math.Pow(0.5, zipfTheta):
		return 1
	default:
		return min(int64(z.n*math.Pow(z.eta*u-z.eta+1, z.alpha)), int64(z.n)-1)
	}
}

// nextScan returns where a scan begins and how many documents it asks for.
func (w *worker) nextScan() (from string, limit int) {
	return scanKey(w.popular.draw(w.rng)), 1 + w.rng.IntN(scanMost)
}

func (w *worker) inserts() bool { return w.rng.IntN(100) < insertPercent }

// scanned checks how many documents a scan has found: its first one exists, and at the end of the
// keys are fewer.
func scanned(n, limit int) error {
	if n < 1 || n > limit {
		return fmt.Errorf("%d documents found of up to %d", n, limit)
	}
	return nil
}

// loadScans fills the collection of the scans.
func (s *mongoSide) loadScans(ctx context.Context, d dataset) error {
	return s.fillWith(ctx, s.client.Database(database).Collection(scanTable), d.size, func(i int) (bson.Raw, error) {
		return scanDocument(i, scanKey(int64(i)))
	})
}

// scans returns workload E with a write concern for its inserts.
func (s *mongoSide) scans(of concern) func(context.Context, *worker) error {
	c := s.client.Database(database).Collection(scanTable, options.Collection().SetWriteConcern(of.writeConcern()))
	return func(ctx context.Context, w *worker) error {
		if w.inserts() {
			copy(w.scanDoc[scanKeyOffset:], scanKey(w.ids.Add(1)))
			_, err := c.InsertOne(ctx, w.scanDoc)
			return err
		}
		from, limit := w.nextScan()
		n, err := countFound(ctx, c, bson.D{{"_id", bson.D{{"$gte", from}}}},
			options.Find().SetSort(bson.D{{"_id", 1}}).SetLimit(int64(limit)))
		if err != nil || s.canned {
			return err
		}
		return scanned(n, limit)
	}
}

// scanKeyOffset is where the key begins in a document: after its length, the type, the name and the
// length of the text.
const scanKeyOffset = idOffset + 4

// countFound reads a cursor to its end and returns the number of documents.
func countFound(ctx context.Context, c *mongo.Collection, filter bson.D,
	opts *options.FindOptionsBuilder,
) (int, error) {
	cursor, err := c.Find(ctx, filter, opts)
	if err != nil {
		return 0, err
	}
	n := 0
	for cursor.Next(ctx) {
		n++
	}
	return n, errors.Join(cursor.Err(), cursor.Close(ctx))
}

// loadScans fills the table of the scans.
func (s *postgresSide) loadScans(ctx context.Context, d dataset) error {
	_, err := s.pool.CopyFrom(ctx, pgx.Identifier{scanTable}, []string{"id", "doc"},
		pgx.CopyFromSlice(d.size, func(i int) ([]any, error) {
			doc, err := scanJSON(i)
			return []any{scanKey(int64(i)), doc}, err
		}))
	return err
}

// scans returns workload E on connections whose commits wait for the disk, or do not.
func (s *postgresSide) scans(pool *pgxpool.Pool) func(context.Context, *worker) error {
	return func(ctx context.Context, w *worker) error {
		if w.inserts() {
			_, err := pool.Exec(ctx, "insert into ycsb (id, doc) values ($1, $2)", scanKey(w.ids.Add(1)), w.scanJSON)
			return err
		}
		from, limit := w.nextScan()
		n, err := pgCount(ctx, pool, "select id, doc from ycsb where id >= $1 order by id limit $2", from, limit)
		if err != nil {
			return err
		}
		return scanned(n, limit)
	}
}
