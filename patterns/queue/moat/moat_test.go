package moat_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/queue/moat"
)

func newMoat(t testing.TB, local, remote *mongo.Database, clock patterns.Clock) *moat.Moat {
	t.Helper()
	m, err := moat.New(local, remote,
		moat.Config{Env: patterns.Env{Clock: clock}, Pace: 5 * time.Millisecond, Lease: time.Minute})
	must(t, err)
	return m
}

// open returns a moat whose local and remote database are the same.
func open(t testing.TB) (*moat.Moat, *mongo.Database) {
	t.Helper()
	db := patterntest.Open(t)
	m := newMoat(t, db, db, nil)
	must(t, m.EnsureIndexes(context.Background()))
	return m, db
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustHold(t testing.TB, m *moat.Moat) {
	t.Helper()
	violations, err := m.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

func inc(n int) bson.D { return bson.D{{"$inc", bson.D{{"n", n}}}} }

// line is a network line to a server that a test can cut.
type line struct {
	dialer options.ContextDialer
	cut    atomic.Bool
	mu     sync.Mutex
	conns  []net.Conn
}

func (l *line) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if l.cut.Load() {
		return nil, errors.New("the line is cut")
	}
	c, err := l.dialer.DialContext(ctx, network, address)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, c)
	return c, err
}

func (l *line) set(cut bool) {
	l.cut.Store(cut)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// remote returns a second client of the server, over a line that can be cut.
func remote(s *patterntest.Server) (*mongo.Database, *line) {
	l := &line{}
	client := s.Connect(func(o *options.ClientOptions) {
		if l.dialer = o.Dialer; l.dialer == nil {
			l.dialer = &net.Dialer{}
		}
		o.SetDialer(l).SetServerSelectionTimeout(50 * time.Millisecond)
	})
	return client.Database(s.Database().Name()), l
}

func run(t testing.TB, m *moat.Moat) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := m.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// TestAway writes while the remote deployment is unavailable: the writes wait, and are applied when
// the deployment is available again.
func TestAway(t *testing.T) {
	t.Parallel()
	s := patterntest.Start(t)
	far, line := remote(s)
	m := newMoat(t, s.Database(), far, nil)
	must(t, m.EnsureIndexes(t.Context()))
	line.set(true)
	must(t, m.Write(t.Context(), moat.Insert("orders", bson.D{{"_id", 1}, {"n", 0}})))
	if err := m.Replay(t.Context()); !errors.Is(err, moat.ErrAway) {
		t.Errorf("%v", err)
	}
	run(t, m)
	for range 10 {
		must(t, m.Write(t.Context(), moat.Update("orders", 1, inc(1))))
	}
	for !m.Away() {
		time.Sleep(time.Millisecond)
	}
	if stats, err := m.Stats(t.Context()); err != nil || stats.Waiting != 11 {
		t.Errorf("%+v %v", stats, err)
	}
	line.set(false)
	must(t, m.Flush(t.Context()))
	var order struct{ N int }
	must(t, s.Database().Collection("orders").FindOne(t.Context(), bson.D{}).Decode(&order))
	if order.N != 10 {
		t.Errorf("%+v", order)
	}
	mustHold(t, m)
}

// TestBadLine cuts the line again and again: every write is applied once, in order.
func TestBadLine(t *testing.T) {
	t.Parallel()
	const writes = 60
	s := patterntest.Start(t)
	far, line := remote(s)
	m := newMoat(t, s.Database(), far, nil)
	must(t, m.EnsureIndexes(t.Context()))
	run(t, m)
	run(t, newMoat(t, s.Database(), far, nil)) // another process stands by
	push := func(v int) bson.D { return bson.D{{"$push", bson.D{{"all", v}}}} }
	for i := range writes {
		if i%10 == 0 {
			line.set(i%20 == 0)
		}
		must(t, m.Write(t.Context(), moat.Upsert("orders", i%3, push(i))))
		time.Sleep(time.Millisecond)
	}
	line.set(false)
	must(t, m.Flush(t.Context()))
	for id := range 3 {
		var order struct{ All []int }
		must(t, s.Database().Collection("orders").FindOne(t.Context(), bson.D{{"_id", id}}).Decode(&order))
		if len(order.All) != writes/3 || !slices.IsSorted(order.All) {
			t.Errorf("document %d: %v", id, order.All)
		}
	}
	mustHold(t, m)
}

// TestSame applies random writes directly and through a moat: the documents must be the same.
func TestSame(t *testing.T) {
	t.Parallel()
	m, db := open(t)
	ctx := t.Context()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		plain, coll := db.Collection(fmt.Sprint("plain", run)), fmt.Sprint("moat", run)
		var writes []moat.Write
		for range rapid.IntRange(1, 12).Draw(rt, "writes") {
			id, n := rapid.IntRange(0, 2).Draw(rt, "id"), rapid.IntRange(0, 9).Draw(rt, "n")
			var err error
			switch rapid.IntRange(0, 5).Draw(rt, "op") {
			case 0:
				doc := bson.D{{"_id", id}, {"n", n}}
				writes = append(writes, moat.Insert(coll, doc))
				if _, err = plain.InsertOne(ctx, doc); mongo.IsDuplicateKeyError(err) {
					err = nil
				}
			case 1:
				writes = append(writes, moat.Replace(coll, id, bson.D{{"r", n}}))
				_, err = plain.ReplaceOne(ctx, bson.D{{"_id", id}}, bson.D{{"r", n}}, options.Replace().SetUpsert(true))
			case 2:
				writes = append(writes, moat.Update(coll, id, inc(n)))
				_, err = plain.UpdateOne(ctx, bson.D{{"_id", id}}, inc(n))
			case 3:
				set := append(inc(n), bson.E{"$set", bson.D{{"s", n}}})
				writes = append(writes, moat.Upsert(coll, id, set))
				_, err = plain.UpdateOne(ctx, bson.D{{"_id", id}}, set, options.UpdateOne().SetUpsert(true))
			case 4:
				stages := mongo.Pipeline{{{"$set", bson.D{{"p", bson.D{{"$add", bson.A{"$n", n}}}}}}}}
				writes = append(writes, moat.Update(coll, id, stages))
				_, err = plain.UpdateOne(ctx, bson.D{{"_id", id}}, stages)
			default:
				writes = append(writes, moat.Delete(coll, id))
				_, err = plain.DeleteOne(ctx, bson.D{{"_id", id}})
			}
			must(t, err)
		}
		must(t, m.Write(ctx, writes...))
		must(t, m.Write(ctx, writes...)) // again, as if the first call had failed
		must(t, m.Replay(ctx))
		must(t, m.Write(ctx, writes...))
		must(t, m.Replay(ctx))
		if got, want := contents(t, db.Collection(coll)), contents(t, plain); got != want {
			rt.Errorf("%s, want %s", got, want)
		}
	})
	mustHold(t, m)
}

// contents returns all documents of a collection, without their marks.
func contents(t testing.TB, coll *mongo.Collection) string {
	t.Helper()
	opts := options.Find().SetSort(bson.D{{"_id", 1}}).SetProjection(bson.D{{moat.DefaultField, 0}})
	found, err := coll.Find(context.Background(), bson.D{}, opts)
	must(t, err)
	var docs []map[string]any
	must(t, found.All(context.Background(), &docs))
	return fmt.Sprint(docs)
}

// TestSeveralMoats lets two moats write to the same documents. One of them dies after it has
// applied a write and before it has recorded this. It does not apply that write again.
func TestSeveralMoats(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	moats := make([]*moat.Moat, 2)
	for i := range moats {
		m, err := moat.New(db, db, moat.Config{Collection: fmt.Sprint("moat", i)})
		must(t, err)
		must(t, m.EnsureIndexes(t.Context()))
		moats[i] = m
	}
	for range 5 { // the lease of the first moat has a higher token
		must(t, moats[0].Replay(t.Context()))
	}
	for range 3 {
		for i, m := range moats {
			must(t, m.Write(t.Context(), moat.Upsert("stock", "pen", inc(1)),
				moat.Replace("stock", "ink", bson.D{{"r", i}})))
			must(t, m.Replay(t.Context()))
		}
	}
	// The first moat has not recorded its last writes, and the second one has written since.
	last := moat.Upsert("stock", "pen", inc(1))
	must(t, moats[0].Write(t.Context(), last))
	must(t, moats[0].Replay(t.Context()))
	must(t, moats[1].Write(t.Context(), moat.Replace("stock", "pen", bson.D{{"n", 6}})))
	must(t, moats[1].Replay(t.Context()))
	_, err := db.Collection("moat0").DeleteOne(t.Context(), bson.D{{"_id", last.ID}})
	must(t, err)
	must(t, moats[0].Write(t.Context(), last))
	must(t, moats[0].Replay(t.Context()))
	if got := contents(t, db.Collection("stock")); got != "[map[_id:ink r:1] map[_id:pen n:6]]" {
		t.Error(got)
	}
}

// TestRejected has a write that the remote server refuses. The other writes are applied.
func TestRejected(t *testing.T) {
	t.Parallel()
	m, db := open(t)
	orders := db.Collection("orders")
	_, err := orders.InsertOne(t.Context(), bson.D{{"_id", 1}, {"n", "text"}})
	must(t, err)
	bad := moat.Update("orders", 1, inc(1))
	twice := moat.Insert("orders", bson.D{{"_id", 1}})
	must(t, m.Write(t.Context(), bad, moat.Upsert("orders", 2, inc(1)), twice, moat.Upsert("orders", 3, inc(1))))
	must(t, m.Replay(t.Context()))
	rejected, err := m.Rejected(t.Context(), 10)
	if err != nil || len(rejected) != 2 || rejected[0].ID != bad.ID || rejected[0].Error == "" {
		t.Fatalf("%+v %v", rejected, err)
	}
	if n, _ := orders.EstimatedDocumentCount(t.Context()); n != 3 {
		t.Errorf("%d documents", n)
	}
	mustHold(t, m)
	_, err = orders.UpdateOne(t.Context(), bson.D{{"_id", 1}}, bson.D{{"$set", bson.D{{"n", 1}}}})
	must(t, err)
	must(t, m.Retry(t.Context(), bad.ID))
	must(t, m.Drop(t.Context(), twice.ID))
	if err := m.Drop(t.Context(), twice.ID); !errors.Is(err, moat.ErrNotFound) {
		t.Error(err)
	}
	must(t, m.Replay(t.Context()))
	if err := m.Retry(t.Context(), bad.ID); !errors.Is(err, moat.ErrNotFound) {
		t.Error(err)
	}
	if stats, err := m.Stats(t.Context()); err != nil || *stats != (moat.Stats{}) {
		t.Errorf("%+v %v", stats, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	m, _ := open(t)
	for _, w := range []moat.Write{
		{},
		moat.Insert("", bson.D{}),
		moat.Insert("c", 7),
		moat.Replace("c", 1, inc(1)),
		moat.Replace("c", 1, nil),
		moat.Update("c", 1, bson.D{{"n", 1}}),
		moat.Update("c", make(chan int), inc(1)),
	} {
		if err := m.Write(t.Context(), w); err == nil {
			t.Errorf("%+v is kept", w)
		}
	}
}

// TestLateReplayer lets a replayer continue after another replayer has taken over: it returns an
// error, and does not change the documents of the other replayer.
func TestLateReplayer(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	clock := patterntest.NewClock()
	m := newMoat(t, db, db, clock)
	must(t, m.EnsureIndexes(t.Context()))
	must(t, m.Write(t.Context(), moat.Upsert("orders", 2, inc(1))))
	must(t, m.Replay(t.Context()))
	must(t, m.Write(t.Context(), moat.Upsert("orders", 1, inc(1))))
	// Insert the document that a later holder of the lease would have written.
	var name struct{ Name string }
	must(t, db.Collection("moat_locks").FindOne(t.Context(), bson.D{{"_id", "name"}}).Decode(&name))
	mark := bson.D{{name.Name, bson.D{{"write", bson.NewObjectID()}, {"token", int64(9)}}}}
	_, err := db.Collection("orders").InsertOne(t.Context(), bson.D{{"_id", 1}, {"n", 5}, {"moat", mark}})
	must(t, err)
	if err := m.Replay(t.Context()); err == nil {
		t.Error("it does not notice")
	}
	if got := contents(t, db.Collection("orders")); got != "[map[_id:1 n:5] map[_id:2 n:1]]" {
		t.Error(got)
	}
}

// now returns a clock that shows the time of the machine plus later. If the clock showed a time in
// the past, the server would remove applied writes at once, because they would have expired.
func now(later time.Duration) *patterntest.Clock {
	clock := patterntest.NewClock()
	clock.Advance(time.Since(clock.Now()) + later)
	return clock
}

// TestCrash lets the process die at every point of storing and applying writes. After a repeated
// Write and Replay, each write is applied once.
func TestCrash(t *testing.T) {
	t.Parallel()
	first := moat.Insert("orders", bson.D{{"_id", 1}, {"n", 1}})
	others := []moat.Write{
		moat.Update("orders", 1, inc(1)), moat.Upsert("orders", 2, inc(1)), moat.Update("orders", 1, inc(1)),
		moat.Delete("orders", 2), moat.Insert("orders", bson.D{{"_id", 2}, {"n", 7}}),
	}
	patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			m := newMoat(t, db, db, now(0))
			must(t, m.EnsureIndexes(t.Context()))
			must(t, m.Write(t.Context(), first))
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			m := newMoat(t, db, db, now(0))
			if err := m.Write(ctx, others...); err != nil {
				return err
			}
			return m.Replay(ctx)
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			m := newMoat(t, db, db, now(30*time.Minute))
			must(t, m.Write(t.Context(), others...)) // repeat the write, as a writer does that has got no reply
			must(t, m.Replay(t.Context()))
			if got := contents(t, db.Collection("orders")); got != "[map[_id:1 n:3] map[_id:2 n:7]]" {
				t.Error(got)
			}
			mustHold(t, m)
		},
	})
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	s := patterntest.Start(t)
	must(t, newMoat(t, s.Database(), s.Database(), nil).EnsureIndexes(t.Context()))
	s.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		m := newMoat(t, db, db, nil)
		bad := moat.Insert("orders", bson.D{{"_id", 1}})
		must(t, m.Write(ctx, moat.Upsert("orders", 1, inc(1)), bad,
			moat.Update("orders", 1, inc(1)), moat.Delete("orders", 1)))
		must(t, m.Replay(ctx))
		_, err := m.Stats(ctx)
		must(t, err)
		must(t, m.Flush(ctx))
		must(t, m.Retry(ctx, bad.ID))
		must(t, m.Replay(ctx))
	})
}

// TestBroken stores documents that violate each rule, and expects Check to find them.
func TestBroken(t *testing.T) {
	t.Parallel()
	m, db := open(t)
	good := moat.Update("orders", 1, inc(1))
	good.State, good.Seq = moat.Waiting, bson.Timestamp{T: 1}
	for rule, change := range map[string]func(w *moat.Write){
		moat.RuleState:  func(w *moat.Write) { w.State = "lost" },
		moat.RuleWhole:  func(w *moat.Write) { w.Data = nil },
		moat.RuleReason: func(w *moat.Write) { w.State = moat.Rejected },
		moat.RuleWaits:  func(w *moat.Write) { w.Error = "no" },
		moat.RuleKept:   func(w *moat.Write) { w.Expires = time.Now().Add(time.Hour) },
		moat.RulePlace:  nil,
	} {
		w := good
		coll := db.Collection(moat.DefaultCollection)
		if change != nil {
			change(&w)
		}
		_, err := coll.InsertOne(t.Context(), w)
		must(t, err)
		if change == nil {
			_, err := coll.UpdateOne(t.Context(), bson.D{}, bson.D{{"$unset", bson.D{{"seq", ""}}}})
			must(t, err)
		}
		violations, err := m.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != rule {
			t.Errorf("%s: %v %v", rule, violations, err)
		}
		_, err = coll.DeleteMany(t.Context(), bson.D{})
		must(t, err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	m, db := open(t)
	if err := m.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Error(err)
	}
	if _, err := moat.New(db, db, moat.Config{Pace: -1}); err == nil {
		t.Error("a negative pace")
	}
	must(t, m.Write(t.Context()))
}
