package scenarios

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/comments"
	"github.com/sheafdb/sheaf/sim/scenario"
)

const commentsDocuments = `

  documents  comments: {_id: "019d…", target: {kind: "posts", id: 7}, parent: "", path: "019d…", author: "user-12", text: "…", posted: ISODate("…")}
  embedded   discussions: {_id: {kind: "posts", id: 7}, count: 100, comments: [{_id: "019d…", …}, …]}
  pages      comment_pages: {_id, target: {kind: "posts", id: 7}, page: 1, count: 100, comments: [{_id: "019d…", …}, …]}`

func commentsScenarios() []*scenario.Definition {
	params := func(each int, more ...scenario.Param) []scenario.Param {
		return append([]scenario.Param{
			choice("design", "whether each comment is a document, all comments of a post are in one document, or a hundred comments are in one document", "documents", "embedded", "pages"),
			whole("numberOfPosts", "how many posts there are to comment on", 100, 1, 100_000),
			whole("commentsPerPost", "how many comments each has at first", each, 0, 100_000),
			whole("sizeOfCommentInBytes", "how long a comment is", 256, 1, comments.DefaultMaxText),
		}, more...)
	}
	return []*scenario.Definition{{
		Name: "comments-post", Group: "comments", Users: 1000, Title: "Comment on a post, or reply to a comment",
		Doc: `A user comments on a post chosen at random. One user of four reads the latest comments first, and replies to one of them. If a discussion
is full (design embedded, a thousand comments), the user is refused, which is not a failure.` + commentsDocuments,
		Params: params(10),
		New:    func(env scenario.Env) (scenario.Scenario, error) { return newDiscussions(env, false) },
	}, {
		Name: "comments-read", Group: "comments", Users: 1000, Title: "Read a part of a discussion",
		Doc:    `A user reads some consecutive comments on a post chosen at random, from a random place. Their number and their order must be right.` + commentsDocuments,
		Params: params(100, whole("show", "how many comments are read", 25, 1, 1000)),
		New:    func(env scenario.Env) (scenario.Scenario, error) { return newDiscussions(env, true) },
	}}
}

// discussions implements the scenarios of package comments.
type discussions struct {
	still
	comments          *comments.Comments
	design            comments.Design
	env               scenario.Env
	posts, each, size int
	show              int // how many comments a user reads; 0 if users write comments
}

// pageSize and limit are the defaults of package comments.
const (
	pageSize = comments.DefaultPageSize
	limit    = comments.DefaultLimit
)

func newDiscussions(env scenario.Env, read bool) (scenario.Scenario, error) {
	p := env.Params
	s := &discussions{
		env: env, posts: p.Int("numberOfPosts"), each: p.Int("commentsPerPost"),
		size: p.Int("sizeOfCommentInBytes"),
	}
	if read {
		s.show = p.Int("show")
	}
	for _, d := range []comments.Design{comments.Documents, comments.Embedded, comments.Pages} {
		if d.String() == p.String("design") {
			s.design = d
		}
	}
	if s.design == comments.Embedded {
		s.each = min(s.each, limit)
	}
	var err error
	s.comments, err = comments.New(env.DB,
		comments.Config{Env: env.Patterns, Design: s.design, Limit: limit, PageSize: pageSize})
	return s, err
}

func (s *discussions) collection() *mongo.Collection {
	name := map[comments.Design]string{
		comments.Documents: "comments", comments.Embedded: "discussions",
		comments.Pages: "comment_pages",
	}
	return s.env.DB.Collection(name[s.design])
}

func postOf(i int) comments.Target { return comments.Target{Kind: "posts", ID: int64(i)} }

// Setup implements scenario.Scenario.
func (s *discussions) Setup(ctx context.Context) error {
	if s.each > 0 {
		if err := s.discuss(ctx); err != nil {
			return err
		}
	}
	return s.comments.EnsureIndexes(ctx)
}

// discuss inserts the comments that exist before the load.
func (s *discussions) discuss(ctx context.Context) error {
	random, first := s.env.Rand(), s.env.Patterns.WithDefaults().Now().Add(-24*time.Hour)
	comment := func(i int) comments.Comment {
		at := first.Add(time.Duration(i) * time.Millisecond)
		id := comments.ID(fmt.Sprintf("%016x%08x", at.UnixMilli()<<16, i))
		return comments.Comment{
			ID: id, Path: string(id), Author: fmt.Sprintf("user-%d", i),
			Text: letters(random, s.size), Posted: at,
		}
	}
	list := func(n int) []comments.Comment {
		out := make([]comments.Comment, n)
		for i := range out {
			out[i] = comment(i)
		}
		return out
	}
	switch s.design {
	case comments.Documents:
		return fill(ctx, s.collection(), s.posts*s.each, func(i int) any {
			one := comment(i)
			return bson.D{
				{"_id", one.ID},
				{"target", postOf(i / s.each)},
				{"parent", ""},
				{"path", one.Path},
				{"author", one.Author},
				{"text", one.Text},
				{"posted", one.Posted},
			}
		})
	case comments.Embedded:
		return fill(ctx, s.collection(), s.posts, func(i int) any {
			return bson.D{
				{"_id", postOf(i)},
				{"count", s.each},
				{"comments", list(s.each)},
			}
		})
	default:
		pages := (s.each + pageSize - 1) / pageSize
		return fill(ctx, s.collection(), s.posts*pages, func(i int) any {
			page := i % pages
			n := min(pageSize, s.each-page*pageSize)
			all := list(page*pageSize + n)
			return bson.D{
				{"target", postOf(i / pages)},
				{"page", page + 1},
				{"count", n},
				{"comments", all[page*pageSize:]},
			}
		})
	}
}

// Run implements scenario.Scenario.
func (s *discussions) Run(ctx context.Context, u *scenario.User) error {
	on := postOf(u.Rand.IntN(s.posts))
	if s.show > 0 {
		return s.read(ctx, u, on)
	}
	author, text := fmt.Sprintf("user-%d", u.Number), letters(u.Rand, s.size)
	err := s.write(ctx, u, on, author, text)
	if anyOf(err, comments.ErrFull, comments.ErrTooDeep) {
		u.Count("refused", 1)
		return nil
	}
	if err == nil {
		u.Count("posted", 1)
	}
	return err
}

// latest is how many comments a user reads before replying to one of them.
const latest = 10

func (s *discussions) write(ctx context.Context, u *scenario.User, on comments.Target, author, text string) error {
	if u.Rand.IntN(4) == 0 {
		var seen []comments.Comment
		err := u.Time("look", func() (err error) {
			seen, err = s.comments.Page(ctx, on, comments.Range{Limit: latest})
			return err
		})
		if err != nil {
			return err
		}
		if len(seen) > 0 {
			return u.Time("reply", func() error {
				_, err := s.comments.Reply(ctx, on, seen[u.Rand.IntN(len(seen))].ID, author, text)
				return err
			})
		}
	}
	return u.Time("post", func() error {
		_, err := s.comments.Post(ctx, on, author, text)
		return err
	})
}

// read reads comments from a random position in a discussion. With the design Documents, it also
// checks their order.
func (s *discussions) read(ctx context.Context, u *scenario.User, on comments.Target) error {
	skip := u.Rand.IntN(max(1, s.each-s.show+1))
	found, err := s.comments.Page(ctx, on, comments.Range{Skip: skip, Limit: s.show})
	if err != nil {
		return err
	}
	if want := min(s.show, s.each-skip); len(found) < want {
		return fmt.Errorf("read %d comments, and there are at least %d", len(found), want)
	}
	for i := 1; i < len(found); i++ {
		if s.design == comments.Documents && found[i].ID <= found[i-1].ID {
			return fmt.Errorf("comment %s is behind %s", found[i].ID, found[i-1].ID)
		}
	}
	u.Count("read", int64(len(found)))
	return nil
}

// Check implements scenario.Scenario.
func (s *discussions) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.comments.Check(ctx)
	if err != nil {
		return nil, err
	}
	var n int64
	if s.design == comments.Documents {
		n, err = countOf(ctx, s.collection(), bson.D{})
	} else {
		err = patterns.EachOf(ctx, s.collection(), func(d *struct {
			Comments []bson.Raw `bson:"comments"`
		},
		) {
			n += int64(len(d.Comments))
		})
	}
	if err != nil {
		return nil, err
	}
	return append(out, counted("what was posted is there", s.collection().Name(), n,
		int64(s.posts*s.each)+t.Counts["posted"], unsure(t, 1))...), nil
}
