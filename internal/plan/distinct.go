package plan

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/candidate"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/plan/trial"
	"github.com/sheafdb/sheaf/internal/storage"
)

func (p *Planner) distinct(ctx context.Context, q *query.Query, field string, r storage.Reader) (bsonx.Value, error) {
	c, err := p.planDistinct(ctx, q, field, r)
	if err != nil {
		return bsonx.Value{}, err
	}
	c.CloseLosers()
	node.CountUses(q, c.Winner().Plan.Root)
	run := chosen(c)
	announce(ctx, run)
	defer run.Close()
	set := &valueSet{seen: map[string]struct{}{}, collation: q.Collation, op: memory.Of(ctx), ctx: ctx}
	d := distinctRun{set: set, path: newDistinctPath(field), field: field, reader: r}
	if err := d.run(ctx, c.Winner()); err != nil {
		return bsonx.Value{}, err
	}
	return set.array()
}

// planDistinct plans a distinct: a DISTINCT_SCAN if an index has the values, otherwise a plan that
// finds the matching documents.
func (p *Planner) planDistinct(ctx context.Context, q *query.Query, field string, r storage.Reader,
) (*trial.Choice, error) {
	d := *q
	d.Sort, d.Projection, d.Skip, d.Limit = nil, nil, 0, 0
	if q.Coll == nil {
		cq, s, err := candidate.Nowhere(&d, canonical.Distinct)
		if err != nil {
			return nil, err
		}
		return p.only(cq, s, r, nil), nil
	}
	exec.Pin(r)
	cq, solutions, err := p.enumerate(ctx, &d, canonical.Distinct, field)
	if err != nil {
		return nil, err
	}
	return p.pick(ctx, cq, solutions, r, true)
}

// distinctRun collects the distinct values of a field.
type distinctRun struct {
	set    *valueSet
	path   distinctPath
	field  string
	reader storage.Reader
	fields exec.EntryFields
}

func (d *distinctRun) run(ctx context.Context, t *trial.Candidate) error {
	e := executionOf(t)
	announce(ctx, e)
	for {
		row, err := e.Next(ctx)
		if err != nil || row == nil {
			return err
		}
		switch scan, fetched := distinctBelow(t.Root); {
		case scan == nil:
			err = d.addDocument(row.Doc)
		case fetched:
			err = d.addFetched(scan, row)
		default:
			err = d.addEntry(scan, row)
		}
		if err != nil {
			return err
		}
	}
}

// distinctBelow returns the distinct scan of a plan that consists of the scan alone, or of the scan
// and a fetch (fetched is true). It returns nil for other plans.
func distinctBelow(root exec.Node) (scan *exec.DistinctScan, fetched bool) {
	root = exec.Bare(root)
	if f, ok := root.(*exec.Fetch); ok {
		scan, _ = exec.Bare(f.Inputs()[0]).(*exec.DistinctScan)
		return scan, scan != nil
	}
	scan, _ = root.(*exec.DistinctScan)
	return scan, false
}

// addFetched adds the values of an entry's document. As in addEntry, an entry for null makes the
// scan stay at its value until a document with a null was found.
func (d *distinctRun) addFetched(scan *exec.DistinctScan, row *exec.Row) error {
	values, err := d.fields.Decode(row)
	if err != nil {
		return err
	}
	before := d.set.hasNull
	if err := d.addDocument(row.Doc); err != nil {
		return err
	}
	if v := values[scan.Fields()-1]; (v.IsNull() || v.Type == bsonx.TypeUndefined) && before == d.set.hasNull {
		scan.Stay()
	}
	return nil
}

// addEntry adds the value of an index entry. An entry with null may also stand for a missing field,
// and an entry with undefined for an empty array. For such entries the records are read until one
// of them has a null.
func (d *distinctRun) addEntry(scan *exec.DistinctScan, row *exec.Row) error {
	values, err := d.fields.Decode(row)
	if err != nil {
		return err
	}
	if v := values[scan.Fields()-1]; !v.IsNull() && v.Type != bsonx.TypeUndefined {
		return d.set.add(v)
	}
	doc, closer, err := d.reader.Get(row.RecordKey)
	if errors.Is(err, storage.ErrNotFound) {
		scan.Stay()
		return nil
	}
	if err != nil {
		return err
	}
	before := d.set.hasNull
	err = d.addDocument(doc)
	if before == d.set.hasNull {
		scan.Stay()
	}
	return errors.Join(err, closer.Close())
}

func (d *distinctRun) addDocument(doc bsonx.Doc) error { return d.path.walk(doc, d.set.add) }

// valueSet is a set of values that keeps the order of insertion.
type valueSet struct {
	seen    map[string]struct{}
	values  []bsonx.Value
	data    []byte // bytes of the values, one after another
	bytes   int
	hasNull bool
	key     []byte
	// collation decides which strings are equal; nil compares their bytes.
	collation *collation.Collator
	op        *memory.Operation
	ctx       context.Context
	meter     interrupt.Meter
	running   *interrupt.Running // belongs to ctx
}

// setBytes estimates the memory of a value in a set without its own bytes and its key, in bytes.
const setBytes = 96

func (s *valueSet) add(v bsonx.Value) error {
	if v.IsMissing() {
		return nil
	}
	if err := s.meter.Passed(s.ctx, interrupt.Document+len(v.Data)); err != nil {
		return err
	}
	if s.running == nil {
		s.running = new(interrupt.Running)
		s.running.Set(s.ctx)
	}
	folded, err := s.collation.Fold(v, s.running)
	if err != nil {
		return err
	}
	s.key = keystring.Append(s.key[:0], folded, false)
	if _, ok := s.seen[string(s.key)]; ok {
		return nil
	}
	s.seen[string(s.key)] = struct{}{}
	s.hasNull = s.hasNull || v.Type == bsonx.TypeNull
	s.bytes += len(v.Data) + 8
	if s.bytes > limits.DocumentBytes {
		return mongoerr.New(17217, "distinct too big, 16mb cap")
	}
	// The value is stored twice: in data and in the answer.
	if err := s.op.Add(int64(setBytes + len(s.key) + 2*len(v.Data))); err != nil {
		return err
	}
	start := len(s.data)
	s.data = append(s.data, v.Data...)
	v.Data = s.data[start:len(s.data):len(s.data)]
	s.values = append(s.values, v)
	return nil
}

func (s *valueSet) array() (bsonx.Value, error) {
	var running interrupt.Running
	running.Set(s.ctx)
	if err := s.collation.Sort(s.values, &s.meter, &running); err != nil {
		return bsonx.Missing, err
	}
	b := bsonx.NewBuilder(make([]byte, 0, s.bytes))
	b.StartArray()
	for _, v := range s.values {
		b.Elem(v)
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}
