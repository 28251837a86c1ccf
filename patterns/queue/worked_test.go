package queue_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/queue"
)

// TestW067 explains the query for the next job: it uses the index with the order of the queue,
// without a sort. The book calls the fields startTime, priority and createdOn.
func TestW067(t *testing.T) {
	t.Parallel()
	priority := bson.D{{"priority", -1}, {"at", 1}, {"_id", 1}}
	for _, c := range []struct {
		order queue.Order
		sort  bson.D
		index string
	}{
		{queue.ByTime, priority[1:], "state_1_at_1__id_1"},
		{queue.ByPriority, priority, "state_1_priority_-1_at_1__id_1"},
	} {
		db := patterntest.Open(t)
		q, err := queue.New(db, queue.Config{Order: c.order})
		must(t, err)
		must(t, q.EnsureIndexes(t.Context()))
		put(t, q, queue.Spec{})
		plan, err := db.RunCommand(t.Context(), bson.D{{"explain", bson.D{
			{"find", queue.DefaultName},
			{"filter", bson.D{{"state", queue.Open}, {"at", bson.D{{"$lte", time.Now()}}}}},
			{"sort", c.sort},
			{"limit", 1},
		}}}).Raw()
		must(t, err)
		winner := plan.Lookup("queryPlanner", "winningPlan").String()
		if !strings.Contains(winner, `"`+c.index+`"`) || strings.Contains(winner, `"SORT"`) {
			t.Errorf("%v: %s", c.order, winner)
		}
	}
}
