package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/server"
)

const database = "sheaf_bench"

// mongoSide is a side that the official driver connects to: a Sheaf server, embedded Sheaf, a floor
// server or a MongoDB.
type mongoSide struct {
	label  string
	client *mongo.Client
	// canned says that the side is a floor server, which gives canned answers and holds no data.
	canned bool
	// drop says that close must drop the data, because the server stays.
	drop    bool
	inside  bool
	pids    []int
	closers []func() error

	// limit is the memory budget of the server in bytes, or 0 if it has none.
	limit int64

	docs, half, inserted *mongo.Collection
}

func newMongoSide(label string, opts *options.ClientOptions, writes concern) (*mongoSide, error) {
	client, err := mongo.Connect(opts.SetMaxPoolSize(256).SetWriteConcern(writes.writeConcern()))
	if err != nil {
		return nil, err
	}
	s := &mongoSide{label: label, client: client}
	db := client.Database(database)
	s.docs, s.half = db.Collection("docs"), db.Collection("half")
	s.inserted = db.Collection("inserted")
	s.closers = append(s.closers, func() error { return client.Disconnect(context.Background()) })
	return s, nil
}

// servedSide returns the side of a server process that this program started.
func servedSide(label string, p *process, writes concern) (*mongoSide, error) {
	s, err := newMongoSide(label, options.Client().ApplyURI(p.uri), writes)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	s.canned = label == sideFloor
	s.pids, s.limit = []int{p.pid()}, p.budget
	s.closers = append(s.closers, p.close)
	return s, nil
}

// embeddedSide returns the side of a Sheaf store in this process.
func embeddedSide(dir string, writes concern) (*mongoSide, error) {
	db, err := sheaf.Open(dir, &sheaf.Options{SlowOperation: -1})
	if err != nil {
		return nil, err
	}
	s, err := newMongoSide(sideEmbedded, db.ClientOptions(), writes)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.inside, s.limit = true, embeddedBudget
	s.closers = append(s.closers, db.Close)
	return s, nil
}

// floorMemorySide returns the side of a floor server in this process. Clients reach it over the
// transport of an embedded store.
func floorMemorySide() (*mongoSide, error) {
	f, err := newFloorServer(dataset{size: groups})
	if err != nil {
		return nil, err
	}
	l := server.NewMemoryListener("floor")
	go f.serve(l)
	opts := options.Client().ApplyURI("mongodb://floor.memory/?directConnection=true").SetDialer(l).
		SetServerMonitoringMode(options.ServerMonitoringModePoll)
	s, err := newMongoSide(sideFloorMemory, opts, concernUnsynced)
	if err != nil {
		return nil, err
	}
	s.inside, s.canned = true, true
	s.closers = append(s.closers, l.Close)
	return s, nil
}

// peerSide returns the side of a MongoDB that is already running. Its processor time and memory are
// measured only if it runs on this machine.
func peerSide(ctx context.Context, uri string, writes concern) (*mongoSide, error) {
	s, err := newMongoSide(sidePeer, options.Client().ApplyURI(uri), writes)
	if err != nil {
		return nil, err
	}
	s.drop = true
	if pid, ok := s.localPID(ctx, uri); ok {
		s.pids = []int{pid}
	}
	return s, nil
}

// localPID returns the process of a server if the URI is a Unix socket or a loopback address.
func (s *mongoSide) localPID(ctx context.Context, uri string) (int, bool) {
	if !localURI.MatchString(uri) {
		return 0, false
	}
	status, err := s.client.Database("admin").RunCommand(ctx, bson.D{{"serverStatus", 1}}).Raw()
	if err != nil {
		return 0, false
	}
	pid, ok := status.Lookup("pid").AsInt64OK()
	_, known := residentBytes(int(pid))
	return int(pid), ok && known
}

// localURI matches URIs of servers on this machine: a loopback address or a Unix socket.
var localURI = regexp.MustCompile(`^mongodb://(localhost|127\.0\.0\.1|\[::1\]|%2[Ff])`)

func (s *mongoSide) name() string     { return s.label }
func (s *mongoSide) local() bool      { return s.inside }
func (s *mongoSide) processes() []int { return s.pids }
func (s *mongoSide) budget() int64    { return s.limit }

func (s *mongoSide) close() error {
	var errs []error
	if s.drop {
		errs = append(errs, s.client.Database(database).Drop(context.Background()))
	}
	for _, f := range s.closers {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func (s *mongoSide) load(ctx context.Context, d dataset) error {
	if s.canned {
		return nil
	}
	if err := s.client.Database(database).Drop(ctx); err != nil {
		return err
	}
	if err := s.fill(ctx, s.docs, d, d.size); err != nil {
		return err
	}
	if !s.inside {
		if err := s.fill(ctx, s.half, d, d.half()); err != nil {
			return err
		}
		if err := s.loadScans(ctx, d); err != nil {
			return err
		}
	}
	_, err := s.docs.Indexes().CreateMany(ctx, []mongo.IndexModel{
		{Keys: bson.D{{"s", 1}}},
		{Keys: bson.D{{"r", 1}}},
		{Keys: bson.D{{"g", 1}, {"r", -1}}},
		{Keys: bson.D{{"c", 1}}},
	})
	return err
}

func (s *mongoSide) fill(ctx context.Context, c *mongo.Collection, d dataset, size int) error {
	return s.fillWith(ctx, c, size, d.document)
}

// fillWith inserts documents 0 to size - 1 into a collection.
func (s *mongoSide) fillWith(ctx context.Context, c *mongo.Collection, size int,
	document func(int) (bson.Raw, error),
) error {
	for from := 0; from < size; from += insertBatch {
		batch := make([]any, 0, insertBatch)
		for i := from; i < min(from+insertBatch, size); i++ {
			doc, err := document(i)
			if err != nil {
				return err
			}
			batch = append(batch, doc)
		}
		if _, err := c.InsertMany(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func (s *mongoSide) prepare(ctx context.Context, op operation) error {
	switch {
	case s.canned:
		return nil
	case op == opInsert, op == opInsertSynced, op == opInsertMany:
		return s.inserted.Drop(ctx)
	default:
		return nil
	}
}

// cannedOperations lists the operations for which the floor server has plausible replies.
var cannedOperations = []operation{opPing, opFindID, opInsert, opInsertMany, opUpdateInc, opScans}

func (s *mongoSide) do(op operation) func(context.Context, *worker) error {
	table := map[operation]func(context.Context, *worker) error{
		opPing:         s.ping,
		opFindID:       s.findID,
		opInsert:       s.insert(concernUnsynced),
		opInsertSynced: s.insert(concernSynced),
		opInsertMany:   s.insertMany,
		opUpdateInc:    s.updateInc(concernUnsynced),
		opUpdateSynced: s.updateInc(concernSynced),
		opScans:        s.scans(concernUnsynced),
		opScansSynced:  s.scans(concernSynced),
		opIndexEqual:   s.indexEqual,
		opIndexRange:   s.indexRange,
		opCompoundSort: s.compoundSort,
		opScanCount:    s.scanCount,
		opSortTop:      s.sortTop,
		opSortAll:      s.sortAll,
		opDistinct:     s.distinct,
	}
	if s.canned && !slices.Contains(cannedOperations, op) {
		return nil
	}
	return table[op]
}

func (s *mongoSide) ping(ctx context.Context, _ *worker) error {
	return s.client.Database(database).RunCommand(ctx, bson.D{{"ping", 1}}).Err()
}

func (s *mongoSide) findID(ctx context.Context, w *worker) error {
	return s.docs.FindOne(ctx, bson.D{{"_id", w.anyID()}}).Err()
}

func (s *mongoSide) insert(of concern) func(context.Context, *worker) error {
	c := s.inserted.Clone(options.Collection().SetWriteConcern(of.writeConcern()))
	return func(ctx context.Context, w *worker) error {
		_, err := c.InsertOne(ctx, w.nextDocument())
		return err
	}
}

func (s *mongoSide) insertMany(ctx context.Context, w *worker) error {
	batch := make([]any, insertBatch)
	for i := range batch {
		doc := append(bson.Raw(nil), w.nextDocument()...)
		batch[i] = doc
	}
	_, err := s.inserted.InsertMany(ctx, batch)
	return err
}

func (s *mongoSide) updateInc(of concern) func(context.Context, *worker) error {
	c := s.docs.Clone(options.Collection().SetWriteConcern(of.writeConcern()))
	return func(ctx context.Context, w *worker) error {
		r, err := c.UpdateOne(ctx, bson.D{{"_id", w.anyID()}}, bson.D{{"$inc", bson.D{{"n", 1}}}})
		if err == nil && r.MatchedCount != 1 {
			return fmt.Errorf("%d documents updated", r.MatchedCount)
		}
		return err
	}
}

func (s *mongoSide) indexEqual(ctx context.Context, w *worker) error {
	return s.docs.FindOne(ctx, bson.D{{"s", w.data.text(int(w.anyID()))}}).Err()
}

func (s *mongoSide) indexRange(ctx context.Context, w *worker) error {
	from := w.rng.Int64N(int64(w.data.size - rangeSize))
	filter := bson.D{{"r", bson.D{{"$gte", from}, {"$lt", from + rangeSize}}}}
	return expect(ctx, s.docs, rangeSize, filter, options.Find())
}

func (s *mongoSide) compoundSort(ctx context.Context, w *worker) error {
	filter := bson.D{{"g", w.rng.Int64N(groups)}}
	opts := options.Find().SetSort(bson.D{{"r", -1}}).SetLimit(sortLimit)
	return expect(ctx, s.docs, min(sortLimit, w.data.perGroup()), filter, opts)
}

func (s *mongoSide) scanCount(ctx context.Context, w *worker) error {
	filter := bson.D{{"u", bson.D{{"$lt", rareBelow}}}}
	raw, err := s.docs.Database().RunCommand(ctx, bson.D{{"count", s.docs.Name()}, {"query", filter}}).Raw()
	if err != nil {
		return err
	}
	n, ok := raw.Lookup("n").AsInt64OK()
	return plausibleCount(n, ok, w.data)
}

// plausibleCount checks a count that should be near a thousandth of the number of documents.
func plausibleCount(n int64, ok bool, d dataset) error {
	if !ok || n > int64(d.size)/100 {
		return fmt.Errorf("%d of %d documents counted", n, d.size)
	}
	return nil
}

func (s *mongoSide) sortTop(ctx context.Context, w *worker) error {
	opts := options.Find().SetSort(bson.D{{"u", 1}}).SetLimit(topSize)
	return expect(ctx, s.half, min(topSize, w.data.half()), bson.D{}, opts)
}

func (s *mongoSide) sortAll(ctx context.Context, w *worker) error {
	opts := options.Find().SetSort(bson.D{{"u", 1}}).SetProjection(bson.D{{"_id", 1}})
	return expect(ctx, s.half, w.data.half(), bson.D{}, opts)
}

func (s *mongoSide) distinct(ctx context.Context, _ *worker) error {
	raw, err := s.docs.Distinct(ctx, "c", bson.D{}).Raw()
	if err != nil {
		return err
	}
	values, err := raw.Values()
	if err == nil && len(values) != categories {
		return fmt.Errorf("%d distinct values", len(values))
	}
	return err
}

// expect reads a cursor to its end, and fails if it does not return want documents.
func expect(ctx context.Context, c *mongo.Collection, want int, filter bson.D, opts *options.FindOptionsBuilder) error {
	n, err := countFound(ctx, c, filter, opts)
	if err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%d documents found, not %d", n, want)
	}
	return nil
}
