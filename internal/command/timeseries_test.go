package command_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sheaftest"
)

// seriesModel applies the same operations to a time series and to a plain collection, and compares
// the results.
type seriesModel struct {
	t             *testing.T
	rng           *rand.Rand
	series, plain *mongo.Collection
	next          int32
	// indexed is true if measured fields have indexes, which do not allow arrays.
	indexed bool
}

var seriesStart = time.Date(2024, 2, 28, 22, 0, 0, 0, time.UTC)

// meta returns one of a few meta values. Their fields are sorted by name, as in buckets.
func (m *seriesModel) meta() any {
	switch m.rng.IntN(6) {
	case 0:
		return "s"
	case 1:
		return bson.D{{"s", int32(m.rng.IntN(2))}}
	default:
		return bson.D{{"r", "x"}, {"s", int32(m.rng.IntN(3))}}
	}
}

func (m *seriesModel) time() time.Time {
	switch m.rng.IntN(30) {
	case 0:
		return time.UnixMilli(-m.rng.Int64N(1 << 40))
	case 1:
		return time.UnixMilli(1<<42 + m.rng.Int64N(1<<45))
	case 2:
		return seriesStart.Add(time.Duration(m.rng.IntN(100)) * time.Hour)
	default:
		return seriesStart.Add(time.Duration(m.rng.IntN(4*3600*1000)) * time.Millisecond)
	}
}

func (m *seriesModel) value() any {
	switch n := m.rng.IntN(14); {
	case n == 2 && m.indexed:
		return true
	default:
		return m.anyValue(n)
	}
}

func (m *seriesModel) anyValue(kind int) any {
	switch kind {
	case 0:
		return fmt.Sprint("v", m.rng.IntN(5))
	case 1:
		return nil
	case 2:
		return bson.A{int32(m.rng.IntN(10)), int32(m.rng.IntN(10))}
	case 3:
		return bson.D{{"a", int32(m.rng.IntN(10))}}
	case 4:
		return int64(m.rng.IntN(10))
	case 5:
		return m.rng.Float64() * 10
	default:
		return float64(m.rng.IntN(100)) / 10
	}
}

func (m *seriesModel) doc() bson.D {
	m.next++
	d := bson.D{{"_id", m.next}, {"t", m.time()}}
	if m.rng.IntN(8) > 0 {
		d = append(d, bson.E{"m", m.meta()})
	}
	for _, name := range []string{"v", "w", "x"} {
		if m.rng.IntN(4) > 0 {
			d = append(d, bson.E{name, m.value()})
		}
	}
	return d
}

func (m *seriesModel) query(depth int) bson.D {
	one := func(name string, v any) bson.D {
		op := []string{"$gt", "$gte", "$lt", "$lte", "$eq", "$ne"}[m.rng.IntN(6)]
		return bson.D{{name, bson.D{{op, v}}}}
	}
	switch n := m.rng.IntN(12); {
	case n < 3:
		return one("t", m.time())
	case n < 5:
		return one([]string{"v", "w", "v.a", "x.0"}[m.rng.IntN(4)], m.value())
	case n == 5:
		return one("m.s", int32(m.rng.IntN(3)))
	case n == 6:
		return one("m", m.meta())
	case n == 7:
		return bson.D{{"w", bson.D{{"$in", bson.A{m.value(), m.value()}}}}}
	case n == 8:
		return bson.D{{"m.r", bson.D{{"$exists", m.rng.IntN(2) == 0}}}}
	case n == 9:
		return one("_id", m.rng.Int32N(m.next+1))
	case depth > 2:
		return bson.D{}
	default:
		op := []string{"$and", "$or", "$nor"}[m.rng.IntN(3)]
		return bson.D{{op, bson.A{m.query(depth + 1), m.query(depth + 1)}}}
	}
}

func (m *seriesModel) both(what string, fn func(c *mongo.Collection) (any, error)) {
	m.t.Helper()
	a, errA := fn(m.series)
	b, errB := fn(m.plain)
	if (errA == nil) != (errB == nil) || errA == nil && fmt.Sprint(a) != fmt.Sprint(b) {
		m.t.Fatalf("%s:\nseries %v %v\nplain  %v %v", what, a, errA, b, errB)
	}
}

func (m *seriesModel) step(ctx context.Context) {
	switch n := m.rng.IntN(20); {
	case n < 5:
		d := m.doc()
		m.both(fmt.Sprint("insert ", d), func(c *mongo.Collection) (any, error) { return c.InsertOne(ctx, d) })
	case n < 8:
		docs := make([]any, 1+m.rng.IntN([]int{4, 60, 1500}[m.rng.IntN(3)]))
		for i := range docs {
			docs[i] = m.doc()
		}
		m.both("insert many", func(c *mongo.Collection) (any, error) {
			_, err := c.InsertMany(ctx, docs)
			return nil, err
		})
	case n < 10:
		q := m.query(1)
		if m.rng.IntN(8) > 0 { // mostly delete few documents
			q = bson.D{{"$and", bson.A{q, bson.D{{"_id", bson.D{{"$mod", bson.A{7, m.rng.IntN(7)}}}}}}}}
		}
		m.both(fmt.Sprint("delete ", q), func(c *mongo.Collection) (any, error) { return c.DeleteMany(ctx, q) })
	case n == 10:
		q := bson.D{{"_id", m.rng.Int32N(m.next + 1)}}
		m.both(fmt.Sprint("delete one ", q), func(c *mongo.Collection) (any, error) { return c.DeleteOne(ctx, q) })
	case n == 11:
		q := bson.D{{"m.s", int32(m.rng.IntN(3))}}
		u := bson.D{{"$set", bson.D{{"m.s", int32(m.rng.IntN(3))}}}}
		m.both(fmt.Sprint("update ", q, u), func(c *mongo.Collection) (any, error) {
			res, err := c.UpdateMany(ctx, q, u)
			if err != nil {
				return nil, err
			}
			return res.MatchedCount, nil
		})
	default:
		m.read(ctx)
	}
}

func (m *seriesModel) read(ctx context.Context) {
	q := m.query(0)
	switch m.rng.IntN(4) {
	case 0:
		m.both(fmt.Sprint("count ", q), func(c *mongo.Collection) (any, error) { return c.CountDocuments(ctx, q) })
	case 1:
		m.both(fmt.Sprint("group ", q), func(c *mongo.Collection) (any, error) {
			return results(ctx, c, mongo.Pipeline{
				{{"$match", q}},
				{{"$group", bson.D{
					{"_id", bson.D{
						{"s", "$m.s"},
						{"h", bson.D{{"$dateTrunc", bson.D{{"date", "$t"}, {"unit", "hour"}}}}},
					}},
					{"n", bson.D{{"$sum", 1}}},
					{"l", bson.D{{"$max", "$_id"}}},
				}}},
			})
		})
	case 2:
		m.both(fmt.Sprint("project ", q), func(c *mongo.Collection) (any, error) {
			return results(ctx, c, mongo.Pipeline{{{"$match", q}}, {{"$project", bson.D{{"v", 1}, {"k", "$m.s"}}}}})
		})
	default:
		m.both(fmt.Sprint("find ", q), func(c *mongo.Collection) (any, error) {
			return results(ctx, c, mongo.Pipeline{{{"$match", q}}})
		})
	}
}

// results returns the documents of a pipeline as text. It sorts the documents and their fields.
func results(ctx context.Context, c *mongo.Collection, p mongo.Pipeline) (string, error) {
	cur, err := c.Aggregate(ctx, p)
	if err != nil {
		return "", err
	}
	var docs []bson.D
	if err := cur.All(ctx, &docs); err != nil {
		return "", err
	}
	lines := make([]string, len(docs))
	for i, d := range docs {
		slices.SortFunc(d, func(a, b bson.E) int { return cmp.Compare(a.Key, b.Key) })
		lines[i] = fmt.Sprint(d)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// TestTimeseriesModel compares a time series with a plain collection under random operations and
// restarts.
func TestTimeseriesModel(t *testing.T) {
	torture.SkipShort(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for run := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, run))
		dir := t.TempDir()
		db, err := sheaf.Open(dir, &sheaf.Options{Sync: sheaf.SyncOnRequest})
		if err != nil {
			t.Fatal(err)
		}
		opts := options.TimeSeries().SetTimeField("t").SetMetaField("m").
			SetGranularity([]string{"seconds", "minutes", "hours"}[rng.IntN(3)])
		if err := db.Client().Database("d").
			CreateCollection(t.Context(), "series", options.CreateCollection().SetTimeSeriesOptions(opts)); err != nil {
			t.Fatal(err)
		}
		m := &seriesModel{t: t, rng: rng, indexed: run == 1}
		if m.indexed {
			_, err := db.Client().Database("d").Collection("series").Indexes().
				CreateMany(t.Context(), []mongo.IndexModel{
					{Keys: bson.D{{"v", 1}}},
					{Keys: bson.D{{"w", -1}, {"t", 1}}},
					{Keys: bson.D{{"m.s", 1}, {"t", -1}}},
				})
			if err != nil {
				t.Fatal(err)
			}
		}
		steps := max(torture.Part(150), 30)
		for i := range steps {
			if i%(steps/3) == 0 {
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				if db, err = sheaf.Open(dir, &sheaf.Options{Sync: sheaf.SyncOnRequest}); err != nil {
					t.Fatal(err)
				}
				m.series, m.plain = db.Client().Database("d").Collection("series"), db.Client().
					Database("d").Collection("plain")
			}
			m.step(t.Context())
		}
		raw := mustRun(t, m.series, bson.D{{"validate", "series"}})
		if !raw.Lookup("valid").Boolean() {
			t.Errorf("validate: %v", raw)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// newSeries returns an empty time series.
func newSeries(t *testing.T) *mongo.Collection {
	t.Helper()
	db := sheaftest.New(t).Database("d")
	opts := options.TimeSeries().SetTimeField("t").SetMetaField("m").SetGranularity("seconds")
	if err := db.CreateCollection(t.Context(), "series",
		options.CreateCollection().SetTimeSeriesOptions(opts)); err != nil {
		t.Fatal(err)
	}
	return db.Collection("series")
}

// TestTimeseriesConcurrent checks inserts into the same windows by several clients, while another
// client deletes.
func TestTimeseriesConcurrent(t *testing.T) {
	c := newSeries(t)
	const writers, each = 6, 300
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := 0; i < each; {
				var docs []any
				for range 1 + (w+i)%5 {
					if i++; i <= each {
						docs = append(docs, bson.D{
							{"t", seriesStart.Add(time.Duration(i) * time.Second)},
							{"m", i % 3},
							{"w", w},
							{"i", i},
						})
					}
				}
				if _, err := c.InsertMany(t.Context(), docs); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var deleted int64
	wg.Go(func() {
		for range 20 {
			res, err := c.DeleteMany(t.Context(), bson.D{{"i", bson.D{{"$mod", bson.A{10, 3}}}}})
			if err != nil {
				t.Error(err)
				return
			}
			deleted += res.DeletedCount
		}
	})
	wg.Wait()
	left, err := c.CountDocuments(t.Context(), bson.D{})
	if err != nil || left+deleted != writers*each {
		t.Errorf("%d left, %d deleted, %v", left, deleted, err)
	}
	distinct, err := results(t.Context(), c,
		mongo.Pipeline{{{"$group", bson.D{{"_id", bson.D{{"w", "$w"}, {"i", "$i"}}}}}}, {{"$count", "n"}}})
	if err != nil || !strings.Contains(distinct, fmt.Sprintf(`"%d"`, left)) {
		t.Errorf("%s different measurements, %d counted", distinct, left)
	}
}

// TestTimeseriesSize checks the size and the number of the buckets of typical measurements.
func TestTimeseriesSize(t *testing.T) {
	c := newSeries(t)
	rng := rand.New(rand.NewPCG(1, 1))
	temp, plain := 20.0, 0
	for range 20 {
		var docs []any
		for range 500 {
			i := plain
			plain++
			temp += rng.NormFloat64() / 10
			docs = append(docs, bson.D{
				{"_id", bson.NewObjectID()},
				{"t", seriesStart.Add(time.Duration(i/5) * time.Second)},
				{"m", bson.D{{"sensor", i % 5}}},
				{"temperature", float64(int(temp*100)) / 100},
				{"status", int32(0)},
			})
		}
		if _, err := c.InsertMany(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
	}
	raw := mustRun(t, c, bson.D{{"collStats", "series"}})
	size, _ := raw.Lookup("size").AsInt64OK()
	buckets, _ := raw.Lookup("timeseries", "bucketCount").AsInt64OK()
	if size > int64(plain)*12 || buckets > 20 {
		t.Errorf("%d measurements take %d bytes in %d buckets", plain, size, buckets)
	}
	t.Logf("%.1f bytes a measurement in %d buckets", float64(size)/float64(plain), buckets)
}
