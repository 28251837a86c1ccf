package moat

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Stats counts writes by state.
type Stats struct {
	Waiting  int64
	Rejected int64
	// Oldest is the time for which the first waiting write has waited.
	Oldest time.Duration
}

// Stats counts the waiting and the rejected writes. It costs three reads.
func (m *Moat) Stats(ctx context.Context) (*Stats, error) {
	out := &Stats{}
	for state, n := range map[State]*int64{Waiting: &out.Waiting, Rejected: &out.Rejected} {
		count, err := m.coll.CountDocuments(ctx, bson.D{{"state", state}})
		if err != nil {
			return nil, fmt.Errorf("moat: count the writes: %w", err)
		}
		*n = count
	}
	first, err := m.find(ctx, Waiting, 1, 1)
	if err != nil {
		return nil, err
	}
	if len(first) > 0 {
		out.Oldest = m.env.Now().Sub(first[0].At)
	}
	return out, nil
}

// find returns the first writes of a state, or the last ones if direction is -1.
func (m *Moat) find(ctx context.Context, state State, direction int, limit int64) (out []Write, err error) {
	sort := bson.D{{"seq", direction}, {"_id", direction}}
	found, err := m.coll.Find(ctx, bson.D{{"state", state}}, options.Find().SetSort(sort).SetLimit(limit))
	if err != nil {
		return nil, fmt.Errorf("moat: find writes: %w", err)
	}
	if err := found.All(ctx, &out); err != nil {
		return nil, fmt.Errorf("moat: read writes: %w", err)
	}
	return out, nil
}

// Rejected returns the first rejected writes, at most limit.
func (m *Moat) Rejected(ctx context.Context, limit int64) ([]Write, error) {
	return m.find(ctx, Rejected, 1, limit)
}

// Retry makes a rejected write waiting again. It is applied before all writes that were stored
// after it.
func (m *Moat) Retry(ctx context.Context, id bson.ObjectID) error {
	again := bson.D{
		{"$set", bson.D{{"state", Waiting}}}, {"$unset", bson.D{{"error", ""}}},
	}
	res, err := m.coll.UpdateOne(ctx, bson.D{{"_id", id}, {"state", Rejected}}, again)
	if err != nil {
		return fmt.Errorf("moat: retry write %s: %w", id.Hex(), err)
	}
	if res.MatchedCount == 0 {
		return ErrNotFound
	}
	return nil
}

// Drop removes a rejected write.
func (m *Moat) Drop(ctx context.Context, id bson.ObjectID) error {
	res, err := m.coll.DeleteOne(ctx, bson.D{{"_id", id}, {"state", Rejected}})
	if err != nil {
		return fmt.Errorf("moat: drop write %s: %w", id.Hex(), err)
	}
	if res.DeletedCount == 0 {
		return ErrNotFound
	}
	return nil
}

// Flush waits until all writes that the moat contains now have been applied or rejected. Any
// process may replay them.
func (m *Moat) Flush(ctx context.Context) error {
	last, err := m.find(ctx, Waiting, -1, 1)
	if err != nil || len(last) == 0 {
		return err
	}
	for {
		first, err := m.find(ctx, Waiting, 1, 1)
		if err != nil {
			return err
		}
		if len(first) == 0 || first[0].Seq.After(last[0].Seq) {
			return nil
		}
		if err := m.env.Clock.Sleep(ctx, m.cfg.Pace/10); err != nil {
			return err
		}
	}
}

// These are the rules whose violations Check lists.
const (
	RuleState  = "a write waits, was made or was rejected"
	RulePlace  = "a write has its place in the order"
	RuleWhole  = "a write can be made"
	RuleReason = "a write that was rejected says why"
	RuleWaits  = "a write that waits was not rejected"
	RuleKept   = "a write that was not made is kept"
)

// Check lists the stored writes that violate a rule, for example writes that cannot be applied or
// have no place in the order.
func (m *Moat) Check(ctx context.Context) ([]patterns.Violation, error) {
	var out []patterns.Violation
	err := patterns.EachOf(ctx, m.coll, func(w *Write) {
		for rule, broken := range m.broken(w) {
			if broken {
				out = append(out, patterns.Violation{
					Rule: rule, Collection: m.coll.Name(), ID: w.ID,
					Detail: fmt.Sprintf("%s of %s, %s, seq %v", w.Op, w.Collection, w.State, w.Seq),
				})
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("moat: check the writes: %w", err)
	}
	return out, nil
}

// broken reports for each rule whether a write violates it.
func (m *Moat) broken(w *Write) map[string]bool {
	_, err := model(w, lease{field: DefaultField + ".name"})
	return map[string]bool{
		RuleState:  w.State != Waiting && w.State != Made && w.State != Rejected,
		RulePlace:  w.Seq.IsZero(),
		RuleWhole:  w.State != Made && (err != nil || w.Collection == ""),
		RuleReason: w.State == Rejected && w.Error == "",
		RuleWaits:  w.State == Waiting && w.Error != "",
		RuleKept:   w.State != Made && !w.Expires.IsZero(),
	}
}
