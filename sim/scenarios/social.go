package scenarios

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/social"
	"github.com/sheafdb/sheaf/sim/scenario"
)

const socialDocuments = `

  users:   {_id: "member-7", name: "Member 7", about: "…"}
  follows: {from: "member-7", to: "member-8", circles: []}
  posts:   {_id, author: "member-8", at, text: "…", circles: [], pull: false, state: "sent"}
  feeds:   {_id, owner: "member-7", open: true, n: 12, unread: 12, items: [{_id, author: "member-8", at, text: "…"}, …]}`

func socialScenarios() []*scenario.Definition {
	params := []scenario.Param{
		whole("numberOfMembers", "how many members the network has", 1000, 2, 1_000_000),
		whole("followers", "how many followers each member has", 20, 1, 10_000),
		whole("sizeOfPostInBytes", "how long a post is", 200, 1, social.MaxText),
		whole("postsAtFirst", "how many posts there are at first", 100, 0, 10_000),
	}
	return []*scenario.Definition{{
		Name: "social-post", Group: "social", Users: 100, Title: "Write a post, which is copied into the feeds of all followers",
		Doc: `A member chosen at random writes a post; it is done when all followers have it in their feeds, which are documents of fifty posts each.` +
			socialDocuments,
		Params: params,
		New:    func(env scenario.Env) (scenario.Scenario, error) { return newMembers(env, false) },
	}, {
		Name: "social-feed", Group: "social", Users: 500, Title: "Read the feed of a member",
		Companion: []string{"social-post"},
		Doc: `A member chosen at random reads its feed, and the number of new posts. The feed has the posts of the members that it follows, the newest first.` +
			socialDocuments,
		Params: params,
		New:    func(env scenario.Env) (scenario.Scenario, error) { return newMembers(env, true) },
	}}
}

// members implements the scenarios of package social.
type members struct {
	still
	network                         *social.Network
	env                             scenario.Env
	members, followers, size, first int
	read                            bool
}

func newMembers(env scenario.Env, read bool) (scenario.Scenario, error) {
	p := env.Params
	s := &members{
		env: env, members: p.Int("numberOfMembers"), size: p.Int("sizeOfPostInBytes"),
		first: p.Int("postsAtFirst"), read: read,
	}
	s.followers = min(p.Int("followers"), s.members-1)
	var err error
	s.network, err = social.New(env.DB, social.Config{Env: env.Patterns})
	return s, err
}

func memberName(i int) string { return fmt.Sprintf("member-%d", i) }

// Setup implements scenario.Scenario. The followers of a member are the members with the following
// numbers.
func (s *members) Setup(ctx context.Context) error {
	err := fill(ctx, s.env.DB.Collection("users"), s.members, func(i int) any {
		return social.Profile{ID: memberName(i), Name: fmt.Sprintf("Member %d", i), About: "a member"}
	})
	if err != nil {
		return err
	}
	err = fill(ctx, s.env.DB.Collection("follows"), s.members*s.followers, func(i int) any {
		to, nth := i/s.followers, i%s.followers
		return bson.D{
			{"from", memberName((to + nth + 1) % s.members)},
			{"to", memberName(to)},
			{"circles", bson.A{}},
		}
	})
	if err != nil {
		return err
	}
	if err := s.network.EnsureIndexes(ctx); err != nil {
		return err
	}
	random := s.env.Rand()
	for range s.first {
		if _, err := s.network.Post(ctx,
			social.Post{Author: memberName(random.IntN(s.members)), Text: letters(random, s.size)}); err != nil {
			return err
		}
	}
	return nil
}

// Run implements scenario.Scenario.
func (s *members) Run(ctx context.Context, u *scenario.User) error {
	number := u.Rand.IntN(s.members)
	if !s.read {
		if _, err := s.network.Post(ctx,
			social.Post{Author: memberName(number), Text: letters(u.Rand, s.size)}); err != nil {
			return err
		}
		u.Count("posted", 1)
		return nil
	}
	var feed []social.Item
	err := u.Time("feed", func() (err error) {
		feed, err = s.network.Feed(ctx, memberName(number))
		return err
	})
	if err != nil {
		return err
	}
	for i, item := range feed {
		var author int
		if _, err := fmt.Sscanf(item.Author, "member-%d", &author); err != nil {
			return fmt.Errorf("a post of %q: %w", item.Author, err)
		}
		if behind := (number - author + s.members) % s.members; behind < 1 || behind > s.followers {
			return fmt.Errorf("member %d does not follow %s", number, item.Author)
		}
		if i > 0 && item.At.After(feed[i-1].At) {
			return fmt.Errorf("a post of %v is behind one of %v", item.At, feed[i-1].At)
		}
	}
	u.Count("read", int64(len(feed)))
	return u.Time("unread", func() error {
		_, _, err := s.network.Unread(ctx, memberName(number))
		return err
	})
}

// Check implements scenario.Scenario.
func (s *members) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if unsure(t, 1) > 0 {
		err := settled(ctx, s.env.Patterns, func(ctx context.Context, env patterns.Env) (int64, error) {
			n, err := social.New(s.env.DB, social.Config{Env: env})
			if err != nil {
				return 0, err
			}
			done, err := n.Repair(ctx)
			return int64(done), err
		})
		if err != nil {
			return nil, err
		}
	}
	out, err := s.network.Check(ctx)
	if err != nil || s.read {
		return out, err
	}
	n, err := countOf(ctx, s.env.DB.Collection("posts"), bson.D{})
	return append(out, counted("what was posted is there", "posts", n,
		int64(s.first)+t.Counts["posted"], unsure(t, 1))...), err
}
