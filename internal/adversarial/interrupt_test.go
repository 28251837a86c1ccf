package adversarial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/torture"
)

const (
	// patience is the time after which a running command is interrupted.
	patience = 30 * time.Millisecond
	// livenessBound is the processor time allowed between an interrupt and the reply on a busy
	// machine. Code that does not check its operation takes longer.
	livenessBound = 3 * time.Second
	// strictBound is the limit with -adversarial.long, on an idle machine.
	strictBound = 250 * time.Millisecond
	// usualBound is the limit for 99 of 100 interrupts of each kind with -adversarial.long.
	usualBound = 50 * time.Millisecond
	// largeMessage is the size from which the sending of a command takes a noticeable part of
	// patience.
	largeMessage = 256 << 10
)

// interruptKind is the way in which a command is interrupted.
type interruptKind string

const (
	byLimit  interruptKind = "the time limit"
	byKillOp interruptKind = "killOp"
	byClient interruptKind = "the client left"
)

// measure sends long-running commands to a database, and measures how long each continues after its
// interrupt.
type measure struct {
	t     *testing.T
	db    *mongo.Database
	large map[string]any
	overs map[interruptKind][]time.Duration
}

func newMeasure(t *testing.T, db *mongo.Database) *measure {
	t.Helper()
	return &measure{t: t, db: db, overs: map[interruptKind][]time.Duration{}}
}

func (m *measure) collect() {
	if *long {
		torture.Collect()
	}
}

// wanted reports whether -adversarial.only selects an attack.
func wanted(name string) bool { return strings.Contains(name, *only) }

// checkText does the same as check for a command in Extended JSON. Such a command takes long to
// parse, so an attack that is not wanted is skipped before.
func (m *measure) checkText(name, cmd string) {
	m.t.Helper()
	if wanted(name) {
		m.check(name, bsonxtest.ParseD(m.t, cmd))
	}
}

// check runs a command with a time limit. In the long form it runs it again with killOp and, if it
// reads, with a client that leaves. It fails if the command does not notice an interrupt in time,
// and returns the code of the command with the time limit.
func (m *measure) check(name string, cmd bson.D) int32 {
	m.t.Helper()
	if !wanted(name) {
		return deaf
	}
	m.collect()
	over, code := m.limited(cmd)
	m.judge(name, byLimit, over, code)
	if *long && code != 0 {
		m.collect()
		over, code := m.killed(cmd)
		m.judge(name, byKillOp, over, code)
		if code != 0 && isRead(cmd) {
			m.collect()
			over, code := m.left(cmd)
			m.judge(name, byClient, over, code)
		}
	}
	return code
}

// isRead reports whether a command ends when its client leaves. Writes run to their end.
func isRead(cmd bson.D) bool {
	switch cmd[0].Key {
	case "find", "count", "distinct":
		return true
	case "aggregate":
		raw, err := bson.Marshal(cmd)
		return err == nil && !bytes.Contains(raw, []byte("$out\x00")) && !bytes.Contains(raw, []byte("$merge\x00"))
	}
	return false
}

// scripted matches the attacks that run JavaScript. An interrupt cannot stop a built-in function of
// JavaScript. Limits keep these functions within strictBound, but not all of them within
// usualBound.
var scripted = regexp.MustCompile(`\$where|\$function|\$accumulator|mapReduce`)

// interrupted are the error codes of interrupted commands.
var interrupted = []int32{50, 11601}

// judge records how long a command continued after its interrupt. over is 0 if the command ended
// before the interrupt.
func (m *measure) judge(name string, kind interruptKind, over time.Duration, code int32) {
	m.t.Helper()
	if (over > 0 || slices.Contains(interrupted, code)) && !scripted.MatchString(name) {
		m.overs[kind] = append(m.overs[kind], over)
	}
	bound := livenessBound
	if *long {
		bound = strictBound
	}
	switch {
	case over > bound || code == deaf:
		m.t.Errorf("%s: code %d, %v of processor time after %s", name, code, over, kind)
	case over > usualBound:
		m.t.Logf("%s: code %d, %v after %s", name, code, over, kind)
	}
}

// deaf is the code of a command that ignored its interrupt, so that the test closed the connection.
const deaf = -1

// run does the same as the function run, but with a time limit, so that a command that ignores its
// interrupt does not end the test.
func (m *measure) run(cmd bson.Raw) (code int32, message string) {
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	defer time.AfterFunc(hang/4, cancel).Stop()
	err := m.db.RunCommand(ctx, cmd).Err()
	var failure mongo.CommandError
	var writes mongo.WriteException
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &failure) && failure.Code != 0:
		return failure.Code, failure.Message
	case errors.As(err, &writes) && len(writes.WriteErrors) > 0:
		return int32(writes.WriteErrors[0].Code), writes.WriteErrors[0].Message
	}
	return deaf, err.Error()
}

// encoded returns a command with more arguments. It is encoded before the measurement, because
// encoding a large command takes long.
func (m *measure) encoded(cmd bson.D, more ...bson.E) bson.Raw {
	m.t.Helper()
	raw, err := bson.Marshal(append(cmd[:len(cmd):len(cmd)], more...))
	if err != nil {
		m.t.Fatal(err)
	}
	return raw
}

// limited runs a command with a time limit. It returns the processor time between the end of the
// limit and the reply, or 0 if the command ended before.
func (m *measure) limited(cmd bson.D) (over time.Duration, code int32) {
	m.t.Helper()
	const comment = "to be limited"
	raw := m.encoded(cmd, bson.E{"comment", comment},
		bson.E{"maxTimeMS", patience.Milliseconds()})
	var limit atomic.Int64
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		// The time limit begins when the whole message has arrived.
		if len(raw) >= largeMessage && len(m.await(comment, 0, done)) == 0 {
			return
		}
		select {
		case <-time.After(patience):
			limit.Store(int64(torture.ProcessorTime()))
		case <-done:
		}
	})
	code, message := m.run(raw)
	end := torture.ProcessorTime()
	close(done)
	wg.Wait()
	if *showErrors && code != 50 && code != 0 {
		m.t.Logf("%.80v: %d %s", cmd, code, message)
	}
	if at := limit.Load(); at > 0 {
		over = end - time.Duration(at)
	}
	return over, code
}

// killed does the same as limited, but uses killOp and no time limit.
func (m *measure) killed(cmd bson.D) (over time.Duration, code int32) {
	m.t.Helper()
	const comment = "to be killed"
	raw := m.encoded(cmd, bson.E{"comment", comment})
	var limit atomic.Int64
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		ids := m.await(comment, patience, done)
		if len(ids) == 0 {
			return
		}
		limit.Store(int64(torture.ProcessorTime()))
		for _, id := range ids {
			_ = m.db.Client().Database("admin").
				RunCommand(m.t.Context(), bson.D{{"killOp", 1}, {"op", id}}).Err()
		}
	})
	code, _ = m.run(raw)
	end := torture.ProcessorTime()
	close(done)
	wg.Wait()
	if at := limit.Load(); at > 0 && code != 0 {
		over = end - time.Duration(at)
	}
	return over, code
}

// await waits until there are operations with a comment, and at least for the time least. It
// returns their numbers, or none if done is closed before.
func (m *measure) await(comment string, least time.Duration, done chan struct{}) (ids []int64) {
	for begin := time.Now(); len(ids) == 0 || time.Since(begin) < least; ids = running(m.t, m.db, comment) {
		select {
		case <-time.After(patience / 4):
		case <-done:
			return nil
		}
	}
	return ids
}

// left does the same as limited, but closes the client's connection and uses no time limit.
func (m *measure) left(cmd bson.D) (over time.Duration, code int32) {
	m.t.Helper()
	const comment = "to be left"
	raw := m.encoded(cmd, bson.E{"comment", comment})
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		_ = m.db.RunCommand(ctx, raw).Err()
		close(done)
	}()
	if len(m.await(comment, patience, done)) == 0 {
		return 0, 0
	}
	limit := torture.ProcessorTime()
	cancel()
	// Printing a large command in currentOp takes as long as the time that is measured. So the loop
	// begins with a pause, in which most commands end.
	for begin, ended := time.Now(), false; !ended; ended = len(running(m.t, m.db, comment)) == 0 {
		if time.Since(begin) > hang/4 {
			code = deaf
			break
		}
		time.Sleep(patience / 4)
	}
	over = torture.ProcessorTime() - limit
	<-done
	return over, code
}

// restore restores a document that a command has changed.
func (m *measure) restore(coll, kind string) {
	m.t.Helper()
	if m.large == nil {
		m.large = largeValues(usualScale())
	}
	doc := bson.D{{"_id", kind}, {"v", m.large[kind]}}
	if _, err := m.db.Collection(coll).
		ReplaceOne(m.t.Context(), doc[:1], doc, options.Replace().SetUpsert(true)); err != nil {
		m.t.Fatal(err)
	}
}

// report logs the measurements. In the long form it fails if fewer than 99 of 100 commands of a
// kind notice an interrupt within usualBound.
func (m *measure) report() {
	m.t.Helper()
	for _, kind := range []interruptKind{byLimit, byKillOp, byClient} {
		overs := m.overs[kind]
		if len(overs) == 0 {
			continue
		}
		slices.Sort(overs)
		at := func(percent int) time.Duration { return overs[(len(overs)-1)*percent/100] }
		m.t.Logf("%d times %s: p50 %v, p90 %v, p99 %v, at most %v", len(overs), kind, at(50), at(90), at(99), at(100))
		if *long && len(overs) >= 100 && at(99) > usualBound {
			m.t.Errorf("%v of processor time after %s at the 99th percentile", at(99), kind)
		}
	}
}

// TestInterrupt sends long-running commands, from lists of all possible parts of commands, and
// interrupts them.
func TestInterrupt(t *testing.T) {
	if *long {
		torture.SteadyHeap(t)
	}
	db := newLarge(t, usualScale())
	t.Run("expressions", func(t *testing.T) { interruptExpressions(t, db) })
	t.Run("filters", func(t *testing.T) { interruptFilters(t, db) })
	t.Run("collation", func(t *testing.T) { interruptCollations(t, db) })
	t.Run("stages", func(t *testing.T) { interruptStages(t, db) })
	t.Run("updates", func(t *testing.T) { interruptUpdates(t, db) })
	t.Run("commands", func(t *testing.T) { interruptCommands(t, db) })
	t.Run("large", func(t *testing.T) { interruptLargeExpressions(t, db) })
}

// scale is a divisor for the sizes of values.
type scale int

// of returns the size of a value whose size is n in the long form.
func (s scale) of(n int) int { return max(n/int(s), 3) }

// usualScale returns the scale of the attacks, which depends on -adversarial.long.
func usualScale() scale {
	if *long {
		return 1
	}
	return 16
}

// shortShare returns of how many attacks one is run without -adversarial.long: of n with
// SHEAF_TEST_LONG, of twice as many by default, and of eight times as many with -short.
func shortShare(n int) int {
	switch {
	case torture.Long():
		return n
	case testing.Short():
		return 8 * n
	}
	return 2 * n
}

// scaled returns the size of a value whose size is n in the long form.
func scaled(n int) int { return usualScale().of(n) }

// largeValues returns large values for the field v of documents, by the _id of the document.
func largeValues(size scale) map[string]any {
	numbers, texts, docs, words := make(bson.A, size.of(600_000)), make(bson.A, size.of(200_000)), make(bson.A,
		size.of(100_000)), make([]string, size.of(300_000))
	for i := range numbers {
		numbers[i] = int32((i * 7919) % 1_000_003)
	}
	for i := range texts {
		texts[i] = fmt.Sprintf("text %d", (i*7919)%1_000_003)
	}
	fields := make(bson.D, size.of(200_000))
	for i := range fields {
		fields[i] = bson.E{fmt.Sprintf("f%d", (i*7919)%1_000_003), int32(i)}
	}
	for i := range docs {
		docs[i] = bson.D{{"k", fmt.Sprint(i)}, {"v", int32(i * 7919 % 1_000_003)}}
	}
	for i := range words {
		words[i] = fmt.Sprintf("word%d", i%50_000)
	}
	return map[string]any{
		"numbers": numbers, "texts": texts, "object": fields, "pairs": docs, "text": strings.Join(words, " "),
		"geometries": bson.A{
			geometry("Polygon", bson.A{circle(size.of(40_000))}),
			geometry("LineString", circle(size.of(40_000))),
			bson.D{{"p", geometry("MultiPoint", circle(size.of(40_000)))}},
		},
	}
}

// indexes are the indexes of the collection "indexed".
var indexes = []bson.D{
	{{"v", 1}},
	{{"v", -1}, {"x", 1}},
	{{"v.k", 1}, {"v.v", -1}},
	{{"$**", 1}},
	{{"$**", "text"}},
}

// newLarge returns a database. Its collections large and indexed have a document for each large
// value. points and words have many small documents, with a geospatial index and a text index.
func newLarge(t *testing.T, size scale) *mongo.Database {
	t.Helper()
	db := newSmall(t)
	index := func(coll string, keys bson.D) {
		if _, err := db.Collection(coll).Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: keys}); err != nil {
			t.Fatal(err)
		}
	}
	for i, keys := range indexes {
		if *long || i == 0 {
			index("indexed", keys)
		}
	}
	for name, v := range largeValues(size) {
		for _, coll := range []string{"large", "indexed"} {
			if !*long && coll == "indexed" && name != "numbers" {
				continue
			}
			if _, err := db.Collection(coll).
				InsertOne(t.Context(), bson.D{{"_id", name}, {"v", v}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	points, words := make([]any, size.of(20_000)), make([]any, size.of(20_000))
	for i := range points {
		points[i] = bson.D{
			{"_id", i},
			{"n", i},
			{"next", i + 1},
			{"p", bson.A{float64(i%180) / 2, float64(i%80) / 2}},
		}
		words[i] = bson.D{
			{"_id", i},
			{"v", fmt.Sprintf("word1 word2 word%d word%d", i%100, i%1000)},
		}
	}
	for coll, docs := range map[string][]any{"points": points, "words": words} {
		if _, err := db.Collection(coll).InsertMany(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
	}
	index("points", bson.D{{"p", "2dsphere"}})
	index("points", bson.D{{"p", "2d"}})
	index("words", bson.D{{"v", "text"}})
	return db
}

// over returns a pipeline over the document whose value has this kind.
func over(kind string, stages ...string) string {
	return `{"aggregate": "large", "cursor": {}, "pipeline": [{"$match": {"_id": "` + kind + `"}}, ` + strings.Join(stages, ", ") + `]}`
}

// typed returns a stage that computes an expression and keeps only the type of the result.
func typed(expr string) string { return `{"$project": {"x": {"$type": ` + expr + `}}}` }
