package scenarios

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/cms"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func cmsScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "cms-edit", Group: "cms", Users: 500, Title: "Edit pages that other users edit at the same time",
		Doc: `A user finds a page by its slug, rewrites its text, and saves it. If another user has saved it meanwhile, the user gets an error with both
versions, and saves again, up to ten times. No save may be lost: the revision of a page counts its saves.

  nodes: {_id, nonce, revision: NumberLong(4), created, edited, metadata: {nodetype: "page", section: "news", slug: "page-7", title: "Page 7",
          author: "user-12", tags: ["a", "b"], detail: {text: "…", publish_on: ISODate("…")}}}`,
		Params: []scenario.Param{
			whole("numberOfPages", "how many pages there are", 20, 1, 100_000),
			whole("sizeOfTextInBytes", "how long a page is", 2048, 1, 100_000),
		},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			s := &editors{env: env, pages: env.Params.Int("numberOfPages"), size: env.Params.Int("sizeOfTextInBytes")}
			var err error
			s.cms, err = cms.New(env.DB, cms.Config{Env: env.Patterns})
			return s, err
		},
	}}
}

// editors implements the scenario cms-edit.
type editors struct {
	still
	cms         *cms.CMS
	env         scenario.Env
	pages, size int
}

// section is the section of the site that contains all pages.
const section = "news"

func pageSlug(i int) string { return fmt.Sprintf("page-%d", i) }

// Setup implements scenario.Scenario.
func (s *editors) Setup(ctx context.Context) error {
	random, now := s.env.Rand(), s.env.Patterns.WithDefaults().Now()
	err := fill(ctx, s.env.DB.Collection("nodes"), s.pages, func(i int) any {
		return cms.Node{
			ID: bson.NewObjectID(), Nonce: bson.NewObjectID(), Revision: 1, Created: now,
			Edited: now, Metadata: cms.Metadata{
				Kind: cms.Page, Section: section, Slug: pageSlug(i), Title: fmt.Sprintf("Page %d", i),
				Author: "somebody", Tags: []string{"a", "b"},
				Detail: cms.Detail{Text: letters(random, s.size), PublishOn: now},
			},
		}
	})
	if err != nil {
		return err
	}
	return s.cms.EnsureIndexes(ctx)
}

// maxSaves bounds the attempts of a user to save a page that other users also save.
const maxSaves = 10

// Run implements scenario.Scenario.
func (s *editors) Run(ctx context.Context, u *scenario.User) error {
	var page cms.Node
	err := u.Time("find", func() (err error) {
		page, err = s.cms.BySlug(ctx, section, pageSlug(u.Rand.IntN(s.pages)))
		return err
	})
	if err != nil {
		return err
	}
	text := letters(u.Rand, s.size)
	for range maxSaves {
		m := page.Metadata
		m.Author, m.Detail.Text = fmt.Sprintf("user-%d", u.Number), text
		err := u.Time("save", func() error {
			_, err := s.cms.Edit(ctx, page, m)
			return err
		})
		var conflict *cms.ConflictError
		if !errors.As(err, &conflict) {
			if err == nil {
				u.Count("saved", 1)
			}
			return err
		}
		u.Count("conflicts", 1)
		page = conflict.Theirs
	}
	u.Count("gave up", 1)
	return nil
}

// Check implements scenario.Scenario.
func (s *editors) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.cms.Check(ctx)
	if err != nil {
		return nil, err
	}
	var revisions int64
	err = patterns.EachOf(ctx, s.env.DB.Collection("nodes"), func(n *cms.Node) { revisions += n.Revision })
	return append(out, counted("each save is a revision", "nodes", revisions,
		int64(s.pages)+t.Counts["saved"], unsure(t, 1))...), err
}
