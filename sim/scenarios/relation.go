package scenarios

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/relation"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func relationScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "relation-load", Group: "relation", Users: 500,
		Title: "Read the documents that many documents refer to, with few queries",
		Doc: `A user reads the books of an author chosen at random, the authors of all these books in one query, and all books of these authors in another. Each
must be in the right place. One user of twenty links an author and a book, or separates them again.

  authors: {_id: 7, name: "Author 7", books: [7, 8, 9]}
  books:   {_id: 9, title: "Book 9", authors: [7, 8, 9]}`,
		Params: []scenario.Param{
			whole("numberOfAuthors", "how many authors there are, and books", 1000, 10, 1_000_000),
			whole("booksPerAuthor", "how many books each has written", 5, 1, 100),
		},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			s := &library{env: env, authors: env.Params.Int("numberOfAuthors")}
			s.each = min(env.Params.Int("booksPerAuthor"), s.authors/2)
			var err error
			s.relations, err = relation.New(env.DB, relation.Config{Env: env.Patterns})
			return s, err
		},
	}}
}

// library implements the scenario relation-load.
type library struct {
	still
	relations     *relation.Relations
	env           scenario.Env
	authors, each int
}

type author struct {
	ID    int    `bson:"_id"`
	Name  string `bson:"name"`
	Books []int  `bson:"books"`
}

type book struct {
	ID      int    `bson:"_id"`
	Title   string `bson:"title"`
	Authors []int  `bson:"authors"`
}

// Setup implements scenario.Scenario. Author n has written book n and the books that follow it.
func (s *library) Setup(ctx context.Context) error {
	if err := s.relations.EnsureIndexes(ctx); err != nil {
		return err
	}
	list := func(i, step int) []int {
		out := make([]int, s.each)
		for n := range out {
			out[n] = (i + n*step + s.authors) % s.authors
		}
		return out
	}
	err := fill(ctx, s.env.DB.Collection("authors"), s.authors,
		func(i int) any { return author{i, fmt.Sprintf("Author %d", i), list(i, 1)} })
	if err != nil {
		return err
	}
	return fill(ctx, s.env.DB.Collection("books"), s.authors,
		func(i int) any { return book{i, fmt.Sprintf("Book %d", i), list(i, -1)} })
}

// Run implements scenario.Scenario.
func (s *library) Run(ctx context.Context, u *scenario.User) error {
	id := u.Rand.IntN(s.authors)
	if u.Rand.IntN(20) == 0 {
		return s.change(ctx, u, id)
	}
	var books []book
	if err := u.Time("books", func() error { return s.relations.Rights(ctx, id, &books) }); err != nil {
		return err
	}
	if len(books) < s.each {
		return fmt.Errorf("author %d has %d books of %d", id, len(books), s.each)
	}
	var ids []int
	for _, b := range books {
		ids = append(ids, b.Authors...)
	}
	var authors map[int]author
	err := u.Time("authors", func() (err error) {
		authors, err = relation.Load(ctx, s.env.DB.Collection("authors"), ids, func(a author) int { return a.ID })
		return err
	})
	if err != nil {
		return err
	}
	if _, there := authors[id]; !there {
		return fmt.Errorf("author %d is not among the authors of its books", id)
	}
	var of map[int][]book
	err = u.Time("their books", func() (err error) {
		of, err = relation.Children(ctx, s.env.DB.Collection("books"), "authors", ids,
			func(b book) []int { return b.Authors })
		return err
	})
	if err == nil && len(of[id]) < s.each {
		return fmt.Errorf("author %d has %d books of %d among all", id, len(of[id]), s.each)
	}
	u.Count("read", int64(len(books)))
	return err
}

// change links an author with a book of other authors, and then removes the link.
func (s *library) change(ctx context.Context, u *scenario.User, id int) error {
	// other is not a book of the author.
	other := (id + s.each + u.Rand.IntN(s.authors-2*s.each+1)) % s.authors
	if err := u.Time("link", func() error { return s.relations.Link(ctx, id, other) }); err != nil {
		return err
	}
	return u.Time("unlink", func() error { return s.relations.Unlink(ctx, id, other) })
}

// Check implements scenario.Scenario.
func (s *library) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if unsure(t, 1) > 0 {
		if _, err := s.relations.Repair(ctx); err != nil {
			return nil, err
		}
	}
	out, err := s.relations.Check(ctx)
	if err != nil {
		return nil, err
	}
	var links int64
	err = patterns.EachOf(ctx, s.env.DB.Collection("books"), func(b *struct {
		Authors []bson.RawValue `bson:"authors"`
	},
	) {
		links += int64(len(b.Authors))
	})
	return append(out, counted("what was linked and separated is as before", "books", links,
		int64(s.authors*s.each), unsure(t, 1))...), err
}
