package queue

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// The rules of Check.
const (
	RuleState    = "a job is in one of the states"
	RuleTime     = "a job has a time"
	RuleEnded    = "a job that has ended says when"
	RuleGoing    = "a job that has not ended says so"
	RuleKept     = "a job that has not ended is not removed"
	RuleOwner    = "nobody holds a job that has ended"
	RuleHeld     = "a held job waits for others"
	RuleAttempts = "a job is tried as often as it may"
	RuleToken    = "an attempt has a token"
	RuleWaits    = "a held job waits for jobs that will be done"
)

// rule is an invariant and the condition of the documents that contradict it.
type rule struct {
	name   string
	broken bson.D
}

// rules are the invariants that one document shows.
func rules() []rule {
	date, ended := bson.D{{Key: "$type", Value: "date"}}, bson.A{Done, Dead, Cancelled}
	not := func(cond bson.D) bson.D { return bson.D{{Key: "$not", Value: cond}} }
	exists := func(yes bool) bson.D { return bson.D{{Key: "$exists", Value: yes}} }
	in := func(states ...any) bson.D { return bson.D{{Key: "$in", Value: bson.A(states)}} }
	more := bson.D{{Key: "$gt", Value: bson.A{"$attempt", "$max"}}}
	less := bson.D{{Key: "$gt", Value: bson.A{"$attempt", "$token"}}}
	return []rule{
		{RuleState, bson.D{{Key: "state", Value: bson.D{{Key: "$nin", Value: states[:]}}}}},
		{RuleTime, bson.D{{Key: "at", Value: not(date)}}},
		{RuleEnded, bson.D{{Key: "state", Value: in(ended...)}, {Key: "ended", Value: not(date)}}},
		{RuleGoing, bson.D{{Key: "state", Value: in(Open, Held)}, {Key: "ended", Value: exists(true)}}},
		{RuleKept, bson.D{{Key: "state", Value: in(Open, Held)}, {Key: "expires", Value: exists(true)}}},
		{RuleOwner, bson.D{{Key: "state", Value: bson.D{{Key: "$ne", Value: Open}}}, {Key: "owner", Value: exists(true)}}},
		{RuleHeld, bson.D{{Key: "state", Value: Held}, {Key: "waits.0", Value: exists(false)}}},
		{RuleAttempts, bson.D{{Key: "state", Value: in(Done, Dead)}, {Key: "$expr", Value: more}}},
		{RuleToken, bson.D{{Key: "$expr", Value: less}}},
	}
}

// Check lists what contradicts the invariants. It reads all jobs.
func (q *Queue) Check(ctx context.Context) ([]patterns.Violation, error) {
	var out []patterns.Violation
	for _, lane := range q.lanes {
		for _, r := range rules() {
			found, err := violations(ctx, lane, r.name, mongo.Pipeline{{{Key: "$match", Value: r.broken}}})
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		found, err := violations(ctx, lane, RuleWaits, orphans(lane.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// orphans finds the held jobs that wait for one that does not exist, or is done and has not told them.
func orphans(lane string) mongo.Pipeline {
	there := bson.D{{Key: "$size", Value: bson.D{{Key: "$filter", Value: bson.D{
		{Key: "input", Value: "$found"}, {Key: "cond", Value: bson.D{{Key: "$ne", Value: bson.A{"$$this.state", Done}}}},
	}}}}}
	return mongo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "state", Value: Held}, {Key: "waits.0", Value: bson.D{{Key: "$exists", Value: true}}}}}},
		{{Key: "$lookup", Value: bson.D{
			{Key: "from", Value: lane}, {Key: "localField", Value: "waits"}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "found"},
		}}},
		{{Key: "$match", Value: bson.D{{Key: "$expr", Value: bson.D{
			{Key: "$ne", Value: bson.A{bson.D{{Key: "$size", Value: "$waits"}}, there}},
		}}}}},
		{{Key: "$unset", Value: "found"}},
	}
}

func violations(ctx context.Context, lane *mongo.Collection, rule string, pipeline mongo.Pipeline) ([]patterns.Violation, error) {
	found, err := lane.Aggregate(ctx, pipeline)
	if err != nil {
		return nil, fmt.Errorf("queue: check %s: %w", lane.Name(), err)
	}
	var jobs []bson.M
	if err := found.All(ctx, &jobs); err != nil {
		return nil, fmt.Errorf("queue: check %s: %w", lane.Name(), err)
	}
	var out []patterns.Violation
	for _, job := range jobs {
		delete(job, "payload")
		out = append(out, patterns.Violation{Rule: rule, Collection: lane.Name(), ID: job["_id"], Detail: fmt.Sprint(job)})
	}
	return out, nil
}
