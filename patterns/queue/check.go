package queue

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
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

// rule is an invariant with a filter for the documents that violate it.
type rule struct {
	name   string
	broken bson.D
}

// rules returns the invariants that can be checked in one document.
func rules() []rule {
	date, ended := bson.D{{"$type", "date"}}, bson.A{Done, Dead, Cancelled}
	not := func(cond bson.D) bson.D { return bson.D{{"$not", cond}} }
	exists := func(yes bool) bson.D { return bson.D{{"$exists", yes}} }
	in := func(states ...any) bson.D { return bson.D{{"$in", bson.A(states)}} }
	more := bson.D{{"$gt", bson.A{"$attempt", "$max"}}}
	less := bson.D{{"$gt", bson.A{"$attempt", "$token"}}}
	return []rule{
		{RuleState, bson.D{{"state", bson.D{{"$nin", states[:]}}}}},
		{RuleTime, bson.D{{"at", not(date)}}},
		{RuleEnded, bson.D{{"state", in(ended...)}, {"ended", not(date)}}},
		{RuleGoing, bson.D{{"state", in(Open, Held)}, {"ended", exists(true)}}},
		{RuleKept, bson.D{{"state", in(Open, Held)}, {"expires", exists(true)}}},
		{RuleOwner, bson.D{{"state", bson.D{{"$ne", Open}}}, {"owner", exists(true)}}},
		{RuleHeld, bson.D{{"state", Held}, {"waits.0", exists(false)}}},
		{RuleAttempts, bson.D{{"state", in(Done, Dead)}, {"$expr", more}}},
		{RuleToken, bson.D{{"$expr", less}}},
	}
}

// Check reads all jobs and lists the violations of the invariants.
func (q *Queue) Check(ctx context.Context) ([]patterns.Violation, error) {
	var out []patterns.Violation
	for _, lane := range q.lanes {
		for _, r := range rules() {
			found, err := violations(ctx, lane, r.name, mongo.Pipeline{{{"$match", r.broken}}})
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

// orphans finds held jobs that can never be opened: they wait for a job that does not exist, or for
// a job that is done but still on their waiting list.
func orphans(lane string) mongo.Pipeline {
	there := bson.D{{"$size", bson.D{{"$filter", bson.D{
		{"input", "$found"}, {"cond", bson.D{{"$ne", bson.A{"$$this.state", Done}}}},
	}}}}}
	return mongo.Pipeline{
		{{"$match", bson.D{{"state", Held}, {"waits.0", bson.D{{"$exists", true}}}}}},
		{{"$lookup", bson.D{
			{"from", lane}, {"localField", "waits"}, {"foreignField", "_id"}, {"as", "found"},
		}}},
		{{"$match", bson.D{{"$expr", bson.D{
			{"$ne", bson.A{bson.D{{"$size", "$waits"}}, there}},
		}}}}},
		{{"$unset", "found"}},
	}
}

func violations(ctx context.Context, lane *mongo.Collection, rule string,
	pipeline mongo.Pipeline,
) ([]patterns.Violation, error) {
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
		out = append(out, patterns.Violation{
			Rule: rule, Collection: lane.Name(),
			ID: job["_id"], Detail: fmt.Sprint(job),
		})
	}
	return out, nil
}
