package topic_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/topic"
)

// ringSize is the number of messages in the ring of TestModel.
const ringSize = 8

// TestModel publishes, reads, stops and reconnects at random on a small ring. A subscriber must get
// an error if it lost messages, and only then.
func TestModel(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		topics := newTopics(t, db, func(c *topic.Config) {
			c.Name, c.Max, c.Await = fmt.Sprint("ring", run), ringSize, time.Millisecond
		})
		in := topic.Interest{From: topic.Beginning()}
		step := 1 // distance between two wanted messages
		if rapid.Bool().Draw(rt, "even") {
			in.Topics, step = []string{"even"}, 2
		}
		published, seen := 0, 0
		sub := subscribe(t, topics, in)
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 2).Draw(rt, "step") {
			case 0:
				for range rapid.IntRange(1, ringSize+2).Draw(rt, "published") {
					published++
					publish(t, topics, []string{"even", "odd"}[published%2], published)
				}
			case 1:
				sub.Close(t.Context())
				p, err := topic.ParsePosition(sub.Position().String())
				must(t, err)
				in.From = topic.After(p)
				sub = subscribe(t, topics, in)
			default:
				if seen+step > published {
					continue
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				m, err := sub.Next(ctx)
				cancel()
				switch {
				case err == nil && int(m.Data.AsInt64()) == seen+step:
					seen += step
				// the oldest message in the ring
				case err == nil && seen == 0 && m.Data.AsInt64() <= int64(published-ringSize+step):
					seen = int(m.Data.AsInt64())
				case errors.Is(err, topic.ErrOverrun) && seen <= published-ringSize:
					in.From = topic.Beginning()
					sub = subscribe(t, topics, in)
					seen = 0
				default:
					rt.Fatalf("%+v %v after %d of %d", m, err, seen, published)
				}
			}
		}
		sub.Close(t.Context())
	})
}
