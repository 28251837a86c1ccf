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

// These constants are for workload E of the Yahoo! Cloud Serving Benchmark (YCSB): 95 % range scans
// of 1 to 100 documents that begin at a key, and 5 % inserts. The popularity of the keys follows
// Zipf's law, so some keys are requested far more often than others. Keys are hashes of the
// documents' numbers, so neighbouring keys are unrelated.
const (
	scanTable = "ycsb"
	// scanMost is the largest number of documents that a scan asks for. scanMean is the number of
	// documents that the floor server returns.
	scanMost      = 100
	scanMean      = scanMost / 2
	insertPercent = 5
	scanFields    = 10
	// keyDigits is the number of digits of every key.
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

// scanFieldsOf returns the fields of document i after its _id. Their texts make the document as
// large as the other documents.
func scanFieldsOf(i int) bson.D {
	// The document's frame takes 5 bytes. The _id takes 10 bytes and the length of the key. Each
	// field takes 7 bytes and the length of its name.
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

// scanDocument returns document i of workload E with the given key.
func scanDocument(i int, key string) (bson.Raw, error) {
	raw, err := bson.Marshal(append(bson.D{{"_id", key}}, scanFieldsOf(i)...))
	if err == nil && len(raw) != documentSize {
		return nil, fmt.Errorf("document %d of the scans has %d bytes, not %d", i, len(raw), documentSize)
	}
	return raw, err
}

// scanJSON returns document i of workload E as JSON, without its key.
func scanJSON(i int) ([]byte, error) {
	m := make(map[string]any, scanFields)
	for _, e := range scanFieldsOf(i) {
		m[e.Key] = e.Value
	}
	return json.Marshal(m)
}

// zipf draws numbers below n. Some of them are drawn far more often than the others (Gray et al.,
// Quickly generating billion-record synthetic databases).
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

// nextScan returns the first key of a scan and the largest number of documents to return.
func (w *worker) nextScan() (from string, limit int) {
	return scanKey(w.popular.draw(w.rng)), 1 + w.rng.IntN(scanMost)
}

func (w *worker) inserts() bool { return w.rng.IntN(100) < insertPercent }

// scanned checks the number of documents that a scan returned. A scan begins at a key that exists,
// so it returns at least one. Near the last key it returns fewer than limit.
func scanned(n, limit int) error {
	if n < 1 || n > limit {
		return fmt.Errorf("%d documents found of up to %d", n, limit)
	}
	return nil
}

// loadScans fills the collection of workload E.
func (s *mongoSide) loadScans(ctx context.Context, d dataset) error {
	return s.fillWith(ctx, s.client.Database(database).Collection(scanTable), d.size, func(i int) (bson.Raw, error) {
		return scanDocument(i, scanKey(int64(i)))
	})
}

// scans returns the operation of workload E. of says whether its inserts wait for the disk.
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

// scanKeyOffset is the position of the key in a BSON document of workload E. The length of the
// document, the type and the name of the field, and the length of the key come before the key.
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

// loadScans fills the table of workload E.
func (s *postgresSide) loadScans(ctx context.Context, d dataset) error {
	_, err := s.pool.CopyFrom(ctx, pgx.Identifier{scanTable}, []string{"id", "doc"},
		pgx.CopyFromSlice(d.size, func(i int) ([]any, error) {
			doc, err := scanJSON(i)
			return []any{scanKey(int64(i)), doc}, err
		}))
	return err
}

// scans returns the operation of workload E on the given pool, whose connections decide whether
// commits wait for the disk.
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
