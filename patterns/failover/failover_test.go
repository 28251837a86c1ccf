package failover_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/failover"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// clock is a clock on which Sleep advances the time.
type clock struct{ *patterntest.Clock }

func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	c.Advance(d)
	return ctx.Err()
}

// gate is a connection to a server that the test can close.
type gate struct {
	dialer options.ContextDialer

	mu     sync.Mutex
	closed bool
	lose   []byte // the next reply to a message that contains these bytes is lost
	conns  []net.Conn
}

var errGate = errors.New("the gate is closed")

func (g *gate) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errGate
	}
	c, err := g.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	g.conns = append(g.conns, c)
	return &gated{Conn: c, gate: g}, nil
}

// set opens or closes the gate.
func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
	if closed {
		for _, c := range g.conns {
			_ = c.Close()
		}
		g.conns = nil
	}
}

func (g *gate) loseAnswer(to string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lose = []byte(to)
}

type gated struct {
	net.Conn
	gate *gate
	lost bool
}

func (c *gated) Write(p []byte) (int, error) {
	c.gate.mu.Lock()
	if len(c.gate.lose) > 0 && bytes.Contains(p, c.gate.lose) {
		c.lost, c.gate.lose = true, nil
	}
	c.gate.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *gated) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lost {
		return 0, errors.Join(errGate, c.Close())
	}
	return n, err
}

// site is a program and the deployment that it depends on.
type site struct {
	*failover.Failover
	t     testing.TB
	gate  *gate
	clock clock
	db    *mongo.Database // the database without the gate

	mu    sync.Mutex
	modes []string
}

func open(t testing.TB, cfg failover.Config) *site {
	t.Helper()
	return openFor(t, 50*time.Millisecond, cfg)
}

// openFor opens a site whose driver searches for a server for the time selection.
func openFor(t testing.TB, selection time.Duration, cfg failover.Config) *site {
	t.Helper()
	server := patterntest.Start(t)
	s := &site{t: t, gate: &gate{}, clock: clock{patterntest.NewClock()}, db: server.Database()}
	client := server.Connect(func(o *options.ClientOptions) {
		if s.gate.dialer = o.Dialer; s.gate.dialer == nil {
			s.gate.dialer = &net.Dialer{}
		}
		// Turn off the driver's own retries, which would hide most of the effects that this file
		// tests.
		o.SetDialer(s.gate).SetServerSelectionTimeout(selection).SetRetryWrites(false).SetRetryReads(false)
	})
	s.await(client)
	cfg.Env.Clock = s.clock
	cfg.OnMode = func(from, to failover.Mode) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.modes = append(s.modes, fmt.Sprint(from, ">", to))
	}
	f, err := failover.New(client.Database(s.db.Name()), cfg)
	s.must(err)
	s.Failover = f
	return s
}

// await waits until a client has found its server.
func (s *site) await(client *mongo.Client) {
	for client.Ping(s.t.Context(), nil) != nil && s.t.Context().Err() == nil {
	}
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) is(what string, err, want error) {
	s.t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		s.t.Errorf("%s: %v, and not %v", what, err, want)
	}
}

func (s *site) mode(want failover.Mode) {
	s.t.Helper()
	if got := s.Mode(); got != want {
		s.t.Errorf("%v, and not %v", got, want)
	}
}

// primary returns the database that Read uses in the mode Normal.
func (s *site) primary() (primary *mongo.Database) {
	s.t.Helper()
	s.must(s.Read(s.t.Context(), func(_ context.Context, db *mongo.Database) error {
		primary = db
		return nil
	}))
	return primary
}

// get reads the number of documents.
func get(ctx context.Context, db *mongo.Database) (int64, error) {
	return db.Collection("c").CountDocuments(ctx, bson.D{})
}

func read(ctx context.Context, db *mongo.Database) error {
	_, err := get(ctx, db)
	return err
}

func insert(id any) failover.Func {
	return func(ctx context.Context, db *mongo.Database) error {
		_, err := db.Collection("c").InsertOne(ctx, bson.D{{"_id", id}})
		return err
	}
}

func inserted(id any) func(ctx context.Context, db *mongo.Database) (bool, error) {
	return func(ctx context.Context, db *mongo.Database) (bool, error) {
		n, err := db.Collection("c").CountDocuments(ctx, bson.D{{"_id", id}})
		return n > 0, err
	}
}

func increase(ctx context.Context, db *mongo.Database) error {
	inc := bson.D{{"$inc", bson.D{{"n", 1}}}}
	_, err := db.Collection("counters").UpdateOne(ctx, bson.D{{"_id", 1}}, inc, options.UpdateOne().SetUpsert(true))
	return err
}

// count returns the number of executions of increase.
func (s *site) count() (doc struct{ N int64 }) {
	s.t.Helper()
	err := s.db.Collection("counters").FindOne(s.t.Context(), bson.D{}).Decode(&doc)
	if !errors.Is(err, mongo.ErrNoDocuments) {
		s.must(err)
	}
	return doc
}

// TestModes makes the deployment unavailable and then available again, and checks the modes, the
// errors of reads and writes, and the stored answers.
func TestModes(t *testing.T) {
	t.Parallel()
	s := open(t, failover.Config{Patience: time.Second})
	ctx := t.Context()
	s.must(s.Write(ctx, failover.Write{Do: insert(1)}))
	count := func() (failover.Cached[int64], error) { return failover.Answer(ctx, s.Failover, "count", get) }
	fresh, err := count()
	if err != nil || fresh.Value != 1 || fresh.Stale {
		t.Errorf("%+v %v", fresh, err)
	}
	s.gate.set(true)
	// The error depends on which goroutine notices the outage first.
	if err := s.Write(ctx, failover.Write{Do: insert(2)}); !errors.Is(err, failover.ErrUncertain) &&
		!errors.Is(err, failover.ErrReadOnly) {
		t.Errorf("a write when it broke: %v", err)
	}
	s.mode(failover.ReadOnly)
	s.clock.Advance(time.Hour)
	s.is("a write", s.Write(ctx, failover.Write{Do: insert(2)}), failover.ErrReadOnly)
	s.mode(failover.ReadOnly)
	s.is("a read", s.Read(ctx, read), failover.ErrEmergency)
	s.mode(failover.Emergency)
	calls := 0
	s.is("without asking", s.Read(ctx,
		func(context.Context, *mongo.Database) error { calls++; return nil }), failover.ErrEmergency)
	s.is("without asking", s.Write(ctx,
		failover.Write{Do: func(context.Context, *mongo.Database) error { calls++; return nil }}), failover.ErrReadOnly)
	if calls != 0 {
		t.Errorf("%d calls", calls)
	}
	stale, err := count()
	if err != nil || stale.Value != 1 || !stale.Stale || !stale.At.Equal(fresh.At) {
		t.Errorf("%+v %v", stale, err)
	}
	_, err = failover.Answer(ctx, s.Failover, "never asked", get)
	s.is("nothing is remembered", err, failover.ErrEmergency)
	s.clock.Advance(time.Hour)
	s.is("a probe", s.Read(ctx, read), failover.ErrEmergency)
	s.gate.set(false)
	for s.Mode() != failover.Normal && ctx.Err() == nil { // until the driver has found the server again
		s.clock.Advance(time.Hour)
		_ = s.Read(ctx, read)
	}
	s.must(s.Write(ctx, failover.Write{Do: insert(3)}))
	if fresh, err = count(); err != nil || fresh.Value != 2 || fresh.Stale {
		t.Errorf("%+v %v", fresh, err)
	}
	want := []string{"normal>searching", "searching>read-only", "read-only>emergency"}
	if len(s.modes) < 4 || !slices.Equal(s.modes[:3], want) {
		t.Errorf("%q", s.modes)
	}
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	s := open(t, failover.Config{})
	ctx := t.Context()
	primary := s.primary()
	s.Switch(failover.ReadOnly)
	s.mode(failover.ReadOnly)
	s.is("a write", s.Write(ctx, failover.Write{Do: insert(1)}), failover.ErrReadOnly)
	s.must(s.Read(ctx, func(_ context.Context, db *mongo.Database) error {
		if db == primary {
			t.Error("a read is from the primary during its maintenance")
		}
		return nil
	}))
	s.Switch(failover.Emergency)
	s.is("a read", s.Read(ctx, read), failover.ErrEmergency)
	s.clock.Advance(time.Hour)
	s.is("a read", s.Read(ctx, read), failover.ErrEmergency)
	s.Switch(failover.Normal)
	s.must(s.Read(ctx, read))
	s.must(s.Write(ctx, failover.Write{Do: insert(1)}))
	if got := fmt.Sprint(failover.Searching, failover.Mode(9)); got != "searching Mode(9)" {
		t.Error(got)
	}
}

// TestLostAnswer executes operations whose replies are lost, with each value of Repeat.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	// After a lost connection, the driver looks for the server every half second.
	s := openFor(t, 20*time.Second, failover.Config{Attempt: 20 * time.Second})
	ctx := t.Context()
	s.gate.loseAnswer("update")
	s.is("never", s.Write(ctx, failover.Write{Do: increase}), failover.ErrUncertain)
	if n := s.count().N; n != 1 {
		t.Errorf("it was executed %d times", n)
	}
	s.mode(failover.Normal) // a broken connection is not a failover
	s.gate.loseAnswer("insert")
	s.must(s.Write(ctx, failover.Write{Do: insert("asked"), Repeat: failover.Ask, Done: inserted("asked")}))
	s.gate.loseAnswer("update")
	set := bson.D{{"$set", bson.D{{"a", 1}}}}
	s.must(s.Write(ctx, failover.Write{
		Repeat: failover.Always,
		Do: func(ctx context.Context, db *mongo.Database) error {
			_, err := db.Collection("c").UpdateOne(ctx, bson.D{{"_id", "asked"}}, set)
			return err
		},
	}))
	s.gate.loseAnswer("aggregate")
	s.must(s.Read(ctx, read))
	err := s.Write(ctx, failover.Write{Do: insert("asked"), Repeat: failover.Always})
	if !mongo.IsDuplicateKeyError(err) {
		t.Errorf("what the server says of the write itself: %v", err)
	}
	if s.Write(ctx, failover.Write{Do: insert(1), Repeat: failover.Ask}) == nil {
		t.Error("a write to ask for has nothing to ask")
	}
}

// script returns the given errors, one after another, and then nil.
func script(calls *int, errs ...error) failover.Func {
	return func(context.Context, *mongo.Database) error {
		*calls++
		if *calls <= len(errs) {
			return errs[*calls-1]
		}
		return nil
	}
}

// TestPolicy tests the reaction to each kind of error.
func TestPolicy(t *testing.T) {
	t.Parallel()
	stepped := mongo.CommandError{Code: 10107, Name: "NotWritablePrimary"}
	certain := mongo.CommandError{Code: 10107, Labels: []string{"RetryableWriteError", "NoWritesPerformed"}}
	broken := mongo.CommandError{Labels: []string{"NetworkError"}}
	invalid := mongo.CommandError{Code: 121, Name: "DocumentValidationFailure"}
	alone := mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64}}
	no := func(context.Context, *mongo.Database) (bool, error) { return false, nil }
	yes := func(context.Context, *mongo.Database) (bool, error) { return true, nil }
	for _, c := range []struct {
		name  string
		w     failover.Write
		errs  []error
		want  error
		calls int
	}{
		{"nothing was written", failover.Write{}, []error{certain, certain}, nil, 3},
		{"not the primary", failover.Write{}, []error{stepped}, failover.ErrUncertain, 1},
		{"broken", failover.Write{}, []error{broken}, failover.ErrUncertain, 1},
		{"a majority does not have it", failover.Write{}, []error{alone}, failover.ErrUncertain, 1},
		{"too late", failover.Write{}, []error{context.DeadlineExceeded}, failover.ErrUncertain, 1},
		{"refused", failover.Write{Repeat: failover.Always}, []error{invalid}, invalid, 1},
		{"again", failover.Write{Repeat: failover.Always}, []error{stepped, broken, alone}, nil, 4},
		{"ask, no", failover.Write{Repeat: failover.Ask, Done: no}, []error{broken, broken}, nil, 3},
		{"ask, yes", failover.Write{Repeat: failover.Ask, Done: yes}, []error{broken, broken}, nil, 1},
		{
			"it was under way",
			failover.Write{Repeat: failover.Ask, Done: after(no, yes)},
			[]error{broken, invalid},
			nil, 2,
		},
		{"it was not", failover.Write{Repeat: failover.Ask, Done: no}, []error{broken, invalid}, invalid, 2},
		{
			"always away",
			failover.Write{Repeat: failover.Always},
			slices.Repeat([]error{broken}, 1000), failover.ErrUncertain, 0,
		},
		{
			"never there",
			failover.Write{Repeat: failover.Always},
			slices.Repeat([]error{error(certain)}, 1000), failover.ErrReadOnly, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, failover.Config{})
			calls := 0
			c.w.Do = script(&calls, c.errs...)
			err := s.Write(t.Context(), c.w)
			same := errors.Is(err, c.want)
			if want := (mongo.CommandError{}); errors.As(c.want, &want) { // these errors are not comparable
				same = err != nil && err.Error() == want.Error()
			}
			if !same || c.calls > 0 && calls != c.calls {
				t.Errorf("%v after %d calls, and not %v after %d", err, calls, c.want, c.calls)
			}
		})
	}
}

// after calls first once, and then second.
func after(first, second func(context.Context, *mongo.Database) (bool, error)) func(context.Context,
	*mongo.Database) (bool, error) {
	asked := false
	return func(ctx context.Context, db *mongo.Database) (bool, error) {
		if !asked {
			asked = true
			return first(ctx, db)
		}
		return second(ctx, db)
	}
}

// TestAnyMember reads while there is no primary: from other members, and sometimes with a probe of
// the primary.
func TestAnyMember(t *testing.T) {
	t.Parallel()
	s := open(t, failover.Config{})
	primary, primaryGone, asked := s.primary(), true, 0
	fn := func(_ context.Context, db *mongo.Database) error {
		if db != primary {
			return nil
		}
		asked++
		if primaryGone {
			return mongo.CommandError{Code: 10107, Labels: []string{"NoWritesPerformed"}}
		}
		return nil
	}
	for range 5 {
		s.must(s.Read(t.Context(), fn))
	}
	s.mode(failover.Searching)
	s.clock.Advance(time.Minute)
	s.must(s.Read(t.Context(), fn))
	if asked != 2 {
		t.Errorf("the primary was asked %d times", asked)
	}
	s.is("a write", s.Write(t.Context(), failover.Write{Do: fn}), failover.ErrReadOnly)
	s.mode(failover.ReadOnly)
	s.must(s.Read(t.Context(), fn))
	primaryGone = false
	s.is("a write that does not ask", s.Write(t.Context(), failover.Write{Do: fn}), failover.ErrReadOnly)
	s.clock.Advance(time.Minute)
	s.must(s.Write(t.Context(), failover.Write{Do: fn}))
	s.mode(failover.Normal)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.is("a caller who gives up", s.Read(ctx, read), context.Canceled)
	s.is("a caller who gives up", s.Write(ctx, failover.Write{Do: insert(1)}), context.Canceled)
	s.mode(failover.Normal)
}

// TestSession continues a session several times by its token: each part sees the writes of all
// earlier parts.
func TestSession(t *testing.T) {
	t.Parallel()
	s := open(t, failover.Config{})
	var token []byte
	for i := range int64(5) {
		session, err := s.Session(token)
		s.must(err)
		ctx := session.Context(t.Context())
		err = s.Write(ctx, failover.Write{Do: insert(i)})
		if err != nil && strings.Contains(err.Error(), "does not support sessions") {
			t.Skip(err)
		}
		s.must(err)
		s.Switch(failover.ReadOnly) // reads go to any member
		s.must(s.Read(ctx, func(ctx context.Context, db *mongo.Database) error {
			if n, err := get(ctx, db); err != nil || n != i+1 {
				t.Errorf("%d documents after %d writes: %v", n, i+1, err)
			}
			return nil
		}))
		s.Switch(failover.Normal)
		token, err = session.Token()
		s.must(err)
		session.End(t.Context())
	}
	if patterntest.ReplicaSet(t, s.db) && len(token) < 20 {
		t.Errorf("a token of %d bytes", len(token))
	}
	if _, err := s.Session([]byte("no token")); err == nil {
		t.Error("anything is a token")
	}
}

// TestW140 has two users write at the same time: their writes mix, but each user's writes keep
// their order.
func TestW140(t *testing.T) {
	t.Parallel()
	// All members answer, but perhaps slowly on a busy machine.
	s := openFor(t, 20*time.Second, failover.Config{Attempt: 20 * time.Second})
	// A capped collection keeps the order of its documents.
	s.must(s.db.CreateCollection(t.Context(), "c", options.CreateCollection().SetCapped(true).SetSizeInBytes(1<<16)))
	users := []string{"ABC", "DEF"}
	var wg sync.WaitGroup
	for _, user := range users {
		wg.Go(func() {
			ctx := t.Context()
			if session, err := s.Session(nil); err == nil {
				defer session.End(ctx)
				ctx = session.Context(ctx)
			}
			for _, request := range user {
				err := s.Write(ctx, failover.Write{Do: insert(string(request))})
				if err != nil && strings.Contains(err.Error(), "does not support sessions") {
					ctx, err = t.Context(), s.Write(t.Context(), failover.Write{Do: insert(string(request))})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	found, err := s.db.Collection("c").Find(t.Context(), bson.D{})
	s.must(err)
	var docs []struct {
		ID string `bson:"_id"`
	}
	s.must(found.All(t.Context(), &docs))
	got := ""
	for _, doc := range docs {
		got += doc.ID
	}
	for _, user := range users {
		others := func(r rune) rune {
			if strings.ContainsRune(user, r) {
				return r
			}
			return -1
		}
		if order := strings.Map(others, got); order != user || len(got) != 6 {
			t.Errorf("%s, of which %s", got, order)
		}
	}
}

func TestStores(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]failover.Store{
		"memory": failover.NewMemory(2),
		"dir":    failover.Dir(t.TempDir()),
	} {
		if got, err := store.Load("a"); got != nil || err != nil {
			t.Errorf("%s: %q %v", name, got, err)
		}
		for _, save := range []string{"a", "a", "b/../c", "d"} {
			if err := store.Save(save, []byte("answer to "+save)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := store.Load("b/../c"); string(got) != "answer to b/../c" || err != nil {
			t.Errorf("%s: %q %v", name, got, err)
		}
		if got, _ := store.Load("a"); (got == nil) != (name == "memory") {
			t.Errorf("%s: %q", name, got)
		}
	}
	none := failover.Dir("/nowhere/at/all")
	if none.Save("a", nil) == nil {
		t.Error("saved nowhere")
	}
}

// TestAnswerOutlasts stores an answer in one process, and reads it in another process that starts
// while the deployment is unavailable.
func TestAnswerOutlasts(t *testing.T) {
	t.Parallel()
	dir := failover.Dir(t.TempDir())
	type page struct{ Title string }
	load := func(context.Context, *mongo.Database) (page, error) { return page{"hello"}, nil }
	if _, err := failover.Answer(t.Context(), open(t, failover.Config{Store: dir}).Failover, "page", load); err != nil {
		t.Fatal(err)
	}
	s := open(t, failover.Config{Store: dir})
	s.Switch(failover.Emergency)
	if got, err := failover.Answer(t.Context(), s.Failover, "page", load); err != nil ||
		got.Value.Title != "hello" || !got.Stale {
		t.Errorf("%+v %v", got, err)
	}
	s.must(dir.Save("page", []byte("garbage")))
	_, err := failover.Answer(t.Context(), s.Failover, "page", load)
	s.is("an answer that is none", err, failover.ErrEmergency)
	s.Switch(failover.Normal)
	_, err = failover.Answer(t.Context(), s.Failover, "page",
		func(context.Context, *mongo.Database) (page, error) { return page{}, mongo.ErrNoDocuments })
	s.is("what is not there", err, mongo.ErrNoDocuments)
}

// TestCrash lets a process die in a write with Ask: the write is executed once or not at all.
func TestCrash(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Operation: func(ctx context.Context, db *mongo.Database) error {
			f, err := failover.New(db, failover.Config{Env: patterns.Env{Clock: clock{patterntest.NewClock()}}})
			if err != nil {
				return err
			}
			return errors.Join(
				f.Write(ctx, failover.Write{Do: insert(1), Repeat: failover.Ask, Done: inserted(1)}),
				f.Write(ctx, failover.Write{Do: increase}),
			)
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			n, err := get(t.Context(), db)
			if err != nil || n > 1 || death.Err == nil && n != 1 || errors.Is(death.Err, failover.ErrReadOnly) {
				t.Errorf("%v: %d documents: %v", death, n, err)
			}
			var doc struct{ N int }
			err = db.Collection("counters").FindOne(t.Context(), bson.D{}).Decode(&doc)
			if err != nil && !errors.Is(err, mongo.ErrNoDocuments) || doc.N > 1 || death.Err == nil && doc.N != 1 {
				t.Errorf("%v: %d times: %v", death, doc.N, err)
			}
		},
	})
	if points != 4 {
		t.Errorf("%d points", points)
	}
}

// flaky executes an operation or not, and loses its reply or not.
func (s *site) flaky(r *atomic.Int64, fn failover.Func) failover.Func {
	return func(ctx context.Context, db *mongo.Database) error {
		switch n := r.Add(1); {
		case n%7 == 0:
			return mongo.CommandError{Code: 10107, Labels: []string{"NoWritesPerformed"}}
		case n%5 == 0:
			return mongo.CommandError{Labels: []string{"NetworkError"}}
		case n%3 == 0:
			return cmp.Or(fn(ctx, db), error(mongo.CommandError{Labels: []string{"NetworkError"}}))
		default:
			return fn(ctx, db)
		}
	}
}

// TestTogether writes from many goroutines while replies are lost and the primary steps down.
func TestTogether(t *testing.T) {
	t.Parallel()
	const writers, writes = 8, 40
	s := open(t, failover.Config{})
	var done, uncertain, turn atomic.Int64
	var wg sync.WaitGroup
	outcomes := make([]error, writers*writes)
	for who := range writers {
		wg.Go(func() {
			for i := range writes {
				s.clock.Advance(time.Second)
				id := who*writes + i
				outcomes[id] = s.Write(t.Context(),
					failover.Write{Do: s.flaky(&turn, insert(id)), Repeat: failover.Ask, Done: inserted(id)})
				switch err := s.Write(t.Context(), failover.Write{Do: s.flaky(&turn, increase)}); {
				case err == nil:
					done.Add(1)
				case errors.Is(err, failover.ErrUncertain):
					uncertain.Add(1)
				case !errors.Is(err, failover.ErrReadOnly):
					t.Error(err)
				}
				if err := s.Read(t.Context(), s.flaky(&turn, read)); err != nil &&
					!errors.Is(err, failover.ErrEmergency) && !mongo.IsNetworkError(err) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := s.count().N; n < done.Load() || n > done.Load()+uncertain.Load() {
		t.Errorf("executed %d times; %d are known, %d uncertain", n, done.Load(), uncertain.Load())
	}
	for id, err := range outcomes {
		there, failed := inserted(id)(t.Context(), s.db)
		s.must(failed)
		switch {
		case err == nil && !there, errors.Is(err, failover.ErrReadOnly) && there:
			t.Errorf("%d: %v, and it is there: %v", id, err, there)
		case err != nil && !errors.Is(err, failover.ErrReadOnly) && !errors.Is(err, failover.ErrUncertain):
			t.Errorf("%d: %v", id, err)
		}
	}
	if done.Load() == 0 {
		t.Error("nothing was written")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []failover.Config{{Patience: -1}, {Attempt: -1}, {Pause: -1}, {Probe: -1}, {Refresh: -1}} {
		if _, err := failover.New(nil, cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
