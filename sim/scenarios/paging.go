package scenarios

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/paging"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func pagingScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "paging-walk", Group: "paging", Users: 300, Title: "Walk through the pages of a thread, from one end to the other",
		Doc: `A user reads the pages of a thread chosen at random, the newest first. Each page starts at the cursor of the preceding page, which was converted to text
and back. The user must see all documents of the thread once, and in order; many have the same date.

  entries: {_id: 1007, thread: 7, date: ISODate("…"), text: "…"}`,
		Params: []scenario.Param{
			whole("numberOfThreads", "how many threads there are", 100, 1, 10_000),
			whole("entriesPerThread", "how many entries each has", 100, 1, 10_000),
			whole("pageSize", "how many entries a page has", paging.DefaultSize, 1, 1000),
		},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			p := env.Params
			return &walkers{
				env: env, threads: p.Int("numberOfThreads"),
				entries: p.Int("entriesPerThread"), size: p.Int("pageSize"),
			}, nil
		},
	}}
}

// walkers implements the scenario paging-walk.
type walkers struct {
	still
	env                    scenario.Env
	threads, entries, size int
}

// entry is a document of a paged list.
type entry struct {
	ID   int       `bson:"_id"`
	Date time.Time `bson:"date"`
	Text string    `bson:"text"`
}

func (s *walkers) pager(thread int) (*paging.Pager[entry], error) {
	return paging.New[entry](s.env.DB, paging.Config{
		Env: s.env.Patterns, Collection: "entries", Sort: bson.D{{"date", -1}},
		Equal: bson.D{{"thread", thread}}, Size: s.size,
	})
}

// Setup implements scenario.Scenario.
func (s *walkers) Setup(ctx context.Context) error {
	p, err := s.pager(0)
	if err != nil {
		return err
	}
	if err := p.EnsureIndexes(ctx); err != nil {
		return err
	}
	random, first := s.env.Rand(), s.env.Patterns.WithDefaults().Now()
	return fill(ctx, s.env.DB.Collection("entries"), s.threads*s.entries, func(i int) any {
		date := first.Add(time.Duration(random.IntN(s.entries/2+1)) * time.Second)
		return bson.D{
			{"_id", i},
			{"thread", i % s.threads},
			{"date", date},
			{"text", letters(random, 200)},
		}
	})
}

// Run implements scenario.Scenario.
func (s *walkers) Run(ctx context.Context, u *scenario.User) error {
	thread := u.Rand.IntN(s.threads)
	p, err := s.pager(thread)
	if err != nil {
		return err
	}
	var page *paging.Page[entry]
	var last *entry
	seen := map[int]bool{}
	for page == nil || page.Next != nil {
		err := u.Time("page", func() (err error) {
			page, err = s.next(ctx, p, page)
			return err
		})
		if err != nil {
			return err
		}
		for i := range page.Items {
			e := &page.Items[i]
			if seen[e.ID] || e.ID%s.threads != thread || last != nil && e.Date.After(last.Date) {
				return fmt.Errorf("entry %d of thread %d is out of its place", e.ID, thread)
			}
			seen[e.ID], last = true, e
		}
	}
	if len(seen) != s.entries {
		return fmt.Errorf("thread %d has shown %d entries of %d", thread, len(seen), s.entries)
	}
	u.Count("seen", int64(len(seen)))
	return nil
}

// next reads the page that follows page, or the first page if page is nil.
func (s *walkers) next(ctx context.Context, p *paging.Pager[entry],
	page *paging.Page[entry],
) (*paging.Page[entry], error) {
	if page == nil {
		return p.First(ctx)
	}
	cursor, err := p.Parse(page.Next.String())
	if err != nil {
		return nil, err
	}
	return p.After(ctx, cursor)
}

// Check implements scenario.Scenario.
func (s *walkers) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	n, err := countOf(ctx, s.env.DB.Collection("entries"), bson.D{})
	out := counted("all entries are there", "entries", n, int64(s.threads*s.entries), 0)
	return append(out, counted("all entries were seen", "entries", t.Counts["seen"],
		t.Succeeded*int64(s.entries), 0)...), err
}
