package main

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/server"
)

const database = "sheaf_bench"

// mongoSide is anything that the official driver talks to: Sheaf served, Sheaf embedded, a floor, a peer.
type mongoSide struct {
	label  string
	client *mongo.Client
	// canned says that the side holds no data.
	canned bool
	// drop says that the data is dropped at the end.
	drop    bool
	inside  bool
	pids    []int
	closers []func() error

	docs, half, inserted, journaled *mongo.Collection
}

func newMongoSide(label string, opts *options.ClientOptions) (*mongoSide, error) {
	// The rows whose names say nothing else compare writes that wait for no sync.
	client, err := mongo.Connect(opts.SetMaxPoolSize(256).SetWriteConcern(writeconcern.W1()))
	if err != nil {
		return nil, err
	}
	s := &mongoSide{label: label, client: client}
	db := client.Database(database)
	journal := true
	s.docs, s.half = db.Collection("docs"), db.Collection("half")
	s.inserted = db.Collection("inserted")
	s.journaled = db.Collection("inserted", options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: 1, Journal: &journal}))
	s.closers = append(s.closers, func() error { return client.Disconnect(context.Background()) })
	return s, nil
}

// servedSide is a side whose server is a process of ours.
func servedSide(label string, p *process) (*mongoSide, error) {
	s, err := newMongoSide(label, options.Client().ApplyURI(p.uri))
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	s.canned = label == sideFloor
	s.pids = []int{p.pid()}
	s.closers = append(s.closers, p.close)
	return s, nil
}

// embeddedSide is Sheaf in this process.
func embeddedSide(dir string) (*mongoSide, error) {
	db, err := sheaf.Open(dir, &sheaf.Options{SlowOperation: -1})
	if err != nil {
		return nil, err
	}
	s, err := newMongoSide(sideEmbedded, db.ClientOptions())
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.inside = true
	s.closers = append(s.closers, db.Close)
	return s, nil
}

// floorMemorySide is the server that does nothing over the transport of the embedded client.
func floorMemorySide() (*mongoSide, error) {
	f, err := newFloorServer(dataset{size: groups})
	if err != nil {
		return nil, err
	}
	l := server.NewMemoryListener("floor")
	go f.serve(l)
	opts := options.Client().ApplyURI("mongodb://floor.memory/?directConnection=true").SetDialer(l).
		SetServerMonitoringMode(options.ServerMonitoringModePoll)
	s, err := newMongoSide(sideFloorMemory, opts)
	if err != nil {
		return nil, err
	}
	s.inside, s.canned = true, true
	s.closers = append(s.closers, l.Close)
	return s, nil
}

func peerSide(uri string) (*mongoSide, error) {
	s, err := newMongoSide(sidePeer, options.Client().ApplyURI(uri))
	if err == nil {
		s.drop = true
	}
	return s, err
}

func (s *mongoSide) name() string     { return s.label }
func (s *mongoSide) local() bool      { return s.inside }
func (s *mongoSide) processes() []int { return s.pids }

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
	}
	_, err := s.docs.Indexes().CreateMany(ctx, []mongo.IndexModel{
		{Keys: bson.D{{Key: "s", Value: 1}}},
		{Keys: bson.D{{Key: "r", Value: 1}}},
		{Keys: bson.D{{Key: "g", Value: 1}, {Key: "r", Value: -1}}},
		{Keys: bson.D{{Key: "c", Value: 1}}},
	})
	return err
}

func (s *mongoSide) fill(ctx context.Context, c *mongo.Collection, d dataset, size int) error {
	for from := 0; from < size; from += insertBatch {
		batch := make([]any, 0, insertBatch)
		for i := from; i < min(from+insertBatch, size); i++ {
			doc, err := d.document(i)
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
	case op == opInsert, op == opInsertJournaled, op == opInsertMany:
		return s.inserted.Drop(ctx)
	default:
		return nil
	}
}

func (s *mongoSide) do(op operation) func(context.Context, *worker) error {
	table := map[operation]func(context.Context, *worker) error{
		opPing:            s.ping,
		opFindID:          s.findID,
		opInsert:          s.insertInto(s.inserted),
		opInsertJournaled: s.insertInto(s.journaled),
		opInsertMany:      s.insertMany,
		opUpdateInc:       s.updateInc,
		opIndexEqual:      s.indexEqual,
		opIndexRange:      s.indexRange,
		opCompoundSort:    s.compoundSort,
		opScanCount:       s.scanCount,
		opSortTop:         s.sortTop,
		opSortAll:         s.sortAll,
		opDistinct:        s.distinct,
	}
	if s.canned && op != opPing && op != opFindID && op != opInsert && op != opInsertMany && op != opUpdateInc {
		return nil
	}
	return table[op]
}

func (s *mongoSide) ping(ctx context.Context, _ *worker) error {
	return s.client.Database(database).RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Err()
}

func (s *mongoSide) findID(ctx context.Context, w *worker) error {
	return s.docs.FindOne(ctx, bson.D{{Key: "_id", Value: w.anyID()}}).Err()
}

func (s *mongoSide) insertInto(c *mongo.Collection) func(context.Context, *worker) error {
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

func (s *mongoSide) updateInc(ctx context.Context, w *worker) error {
	r, err := s.docs.UpdateOne(ctx, bson.D{{Key: "_id", Value: w.anyID()}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}})
	if err == nil && r.MatchedCount != 1 {
		return fmt.Errorf("%d documents updated", r.MatchedCount)
	}
	return err
}

func (s *mongoSide) indexEqual(ctx context.Context, w *worker) error {
	return s.docs.FindOne(ctx, bson.D{{Key: "s", Value: w.data.text(int(w.anyID()))}}).Err()
}

func (s *mongoSide) indexRange(ctx context.Context, w *worker) error {
	from := w.rng.Int64N(int64(w.data.size - rangeSize))
	filter := bson.D{{Key: "r", Value: bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: from + rangeSize}}}}
	return expect(ctx, s.docs, rangeSize, filter, options.Find())
}

func (s *mongoSide) compoundSort(ctx context.Context, w *worker) error {
	filter := bson.D{{Key: "g", Value: w.rng.Int64N(groups)}}
	opts := options.Find().SetSort(bson.D{{Key: "r", Value: -1}}).SetLimit(sortLimit)
	return expect(ctx, s.docs, min(sortLimit, w.data.perGroup()), filter, opts)
}

func (s *mongoSide) scanCount(ctx context.Context, w *worker) error {
	filter := bson.D{{Key: "u", Value: bson.D{{Key: "$lt", Value: rareBelow}}}}
	raw, err := s.docs.Database().RunCommand(ctx, bson.D{{Key: "count", Value: s.docs.Name()}, {Key: "query", Value: filter}}).Raw()
	if err != nil {
		return err
	}
	n, ok := raw.Lookup("n").AsInt64OK()
	return plausibleCount(n, ok, w.data)
}

// plausibleCount checks the count of a thousandth of the documents.
func plausibleCount(n int64, ok bool, d dataset) error {
	if !ok || n > int64(d.size)/100 {
		return fmt.Errorf("%d of %d documents counted", n, d.size)
	}
	return nil
}

func (s *mongoSide) sortTop(ctx context.Context, w *worker) error {
	opts := options.Find().SetSort(bson.D{{Key: "u", Value: 1}}).SetLimit(topSize)
	return expect(ctx, s.half, min(topSize, w.data.half()), bson.D{}, opts)
}

func (s *mongoSide) sortAll(ctx context.Context, w *worker) error {
	opts := options.Find().SetSort(bson.D{{Key: "u", Value: 1}}).SetProjection(bson.D{{Key: "_id", Value: 1}})
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

// expect reads a cursor to its end, which must come after so many documents.
func expect(ctx context.Context, c *mongo.Collection, want int, filter bson.D, opts *options.FindOptionsBuilder) error {
	cursor, err := c.Find(ctx, filter, opts)
	if err != nil {
		return err
	}
	n := 0
	for cursor.Next(ctx) {
		n++
	}
	if err := errors.Join(cursor.Err(), cursor.Close(ctx)); err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%d documents found, not %d", n, want)
	}
	return nil
}
