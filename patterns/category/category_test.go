package category_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/category"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// designs runs a test with each design.
func designs(t *testing.T, test func(t *testing.T, design category.Design)) {
	t.Parallel()
	for _, d := range []category.Design{category.Ancestors, category.Paths} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// shop is a tree of genres, and its clock.
type shop struct {
	*category.Tree
	t      *testing.T
	db     *mongo.Database
	design category.Design
	clock  *patterntest.Clock
	id     map[string]bson.ObjectID
}

func open(t *testing.T, db *mongo.Database, d category.Design) *shop {
	t.Helper()
	s := &shop{t: t, db: db, design: d, clock: patterntest.NewClock(), id: map[string]bson.ObjectID{}}
	tree, err := category.New(db, category.Config{Env: patterns.Env{Clock: s.clock}, Design: d})
	if err != nil {
		t.Fatal(err)
	}
	s.Tree = tree
	return s
}

// genres creates the categories ragtime/bop/modal-jazz and ragtime/swing, a product in modal-jazz,
// and a product in bop and swing.
func genres(t *testing.T, db *mongo.Database, d category.Design) *shop {
	t.Helper()
	s := open(t, db, d)
	if err := s.EnsureIndexes(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.add("", "ragtime", "Ragtime")
	s.add("ragtime", "bop", "Bop")
	s.add("bop", "modal-jazz", "Modal Jazz")
	s.add("ragtime", "swing", "Swing")
	s.product("kind-of-blue", "modal-jazz")
	s.product("birdland", "bop", "swing")
	return s
}

func (s *shop) add(parent, slug, name string) {
	s.t.Helper()
	c, err := s.Add(s.t.Context(), s.id[parent], slug, name)
	if err != nil {
		s.t.Fatal(err)
	}
	s.id[slug] = c.ID
}

func (s *shop) product(name string, slugs ...string) {
	s.t.Helper()
	if _, err := s.db.Collection("products").InsertOne(s.t.Context(), bson.D{{"_id", name}}); err != nil {
		s.t.Fatal(err)
	}
	ids := make([]bson.ObjectID, len(slugs))
	for i, slug := range slugs {
		ids[i] = s.id[slug]
	}
	if err := s.Assign(s.t.Context(), name, ids...); err != nil {
		s.t.Fatal(err)
	}
}

// trail returns the bread crumbs of a category as a text: "Ragtime > Bop > Modal Jazz".
func (s *shop) trail(slug string) string {
	s.t.Helper()
	c, crumbs, err := s.Find(s.t.Context(), slug)
	if err != nil {
		return err.Error()
	}
	names := []string{}
	for _, crumb := range crumbs {
		names = append(names, crumb.Name)
	}
	return strings.Join(append(names, c.Name), " > ")
}

func (s *shop) subtree(slug string) string {
	s.t.Helper()
	all, err := s.Subtree(s.t.Context(), s.id[slug])
	if err != nil {
		return err.Error()
	}
	return slugs(all, true)
}

func (s *shop) children(slug string) string {
	s.t.Helper()
	all, err := s.Children(s.t.Context(), s.id[slug])
	if err != nil {
		return err.Error()
	}
	return slugs(all, false)
}

func slugs(all []category.Category, sorted bool) string {
	var out []string
	for _, c := range all {
		out = append(out, c.Slug)
	}
	if sorted {
		slices.Sort(out)
	}
	return strings.Join(out, " ")
}

func (s *shop) products(slug string, scope category.Scope) string {
	s.t.Helper()
	cur, err := s.Products(s.t.Context(), s.id[slug], scope, options.Find().SetSort(bson.D{{"_id", 1}}))
	if err != nil {
		return err.Error()
	}
	var docs []struct {
		ID string `bson:"_id"`
	}
	if err := cur.All(s.t.Context(), &docs); err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, doc := range docs {
		out = append(out, doc.ID)
	}
	n, err := s.CountProducts(s.t.Context(), s.id[slug], scope)
	if err != nil || int(n) != len(out) {
		s.t.Errorf("%d products of %s, counted %d: %v", len(out), slug, n, err)
	}
	return strings.Join(out, " ")
}

func (s *shop) sound() {
	s.t.Helper()
	violations, err := s.Check(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, v := range violations {
		s.t.Error(v)
	}
}

func (s *shop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, and not %q", what, got, want)
	}
}

// TestReads reads the categories of worked examples W086 and W087 of the book.
func TestReads(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		s := genres(t, patterntest.Open(t), d)
		equal(t, "trail", s.trail("modal-jazz"), "Ragtime > Bop > Modal Jazz")
		equal(t, "children of ragtime", s.children("ragtime"), "bop swing")
		equal(t, "children of the top", s.children(""), "ragtime")
		equal(t, "subtree of ragtime", s.subtree("ragtime"), "bop modal-jazz ragtime swing")
		equal(t, "subtree of a leaf", s.subtree("swing"), "swing")
		equal(t, "products of bop", s.products("bop", category.Here), "birdland")
		equal(t, "products of bop and below", s.products("bop", category.AndBelow), "birdland kind-of-blue")
		equal(t, "products of swing and below", s.products("swing", category.AndBelow), "birdland")
		s.must(s.Reorder(t.Context(), s.id["ragtime"], s.id["swing"], s.id["bop"]))
		equal(t, "children in their order", s.children("ragtime"), "swing bop")
		s.must(s.Assign(t.Context(), "birdland"))
		equal(t, "products of swing", s.products("swing", category.Here), "")
		s.sound()
	})
}

// TestSiblingPrefix adds siblings whose slugs begin with the slug "bop": the branch of "bop" does
// not contain them.
func TestSiblingPrefix(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		s := genres(t, patterntest.Open(t), d)
		s.add("ragtime", "bop.x", "Not Bop")
		s.add("ragtime", "bopx", "Nor this")
		s.product("other", "bopx")
		equal(t, "subtree", s.subtree("bop"), "bop modal-jazz")
		equal(t, "subtree with a dot", s.subtree("bop.x"), "bop.x")
		equal(t, "products", s.products("bop", category.AndBelow), "birdland kind-of-blue")
	})
}

// TestChanges moves and renames the category Bop, as in worked examples W088 to W090 of the book.
func TestChanges(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		s := genres(t, patterntest.Open(t), d)
		s.must(s.Move(t.Context(), s.id["bop"], s.id["swing"]))
		equal(t, "moved", s.trail("bop"), "Ragtime > Swing > Bop")
		equal(t, "below what was moved", s.trail("modal-jazz"), "Ragtime > Swing > Bop > Modal Jazz")
		equal(t, "products follow", s.products("swing", category.AndBelow), "birdland kind-of-blue")
		s.must(s.Rename(t.Context(), s.id["bop"], "bebop", "BeBop"))
		equal(t, "renamed", s.trail("modal-jazz"), "Ragtime > Swing > BeBop > Modal Jazz")
		equal(t, "by its new slug", s.trail("bebop"), "Ragtime > Swing > BeBop")
		equal(t, "products", s.products("bop", category.AndBelow), "birdland kind-of-blue")
		s.must(s.Move(t.Context(), s.id["bop"], category.Top))
		equal(t, "at the top", s.trail("modal-jazz"), "BeBop > Modal Jazz")
		s.must(s.Remove(t.Context(), s.id["modal-jazz"]))
		equal(t, "removed", s.trail("modal-jazz"), category.ErrNotFound.Error())
		s.sound()
	})
}

func TestRefusals(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		s := genres(t, patterntest.Open(t), d)
		ctx, nobody := t.Context(), bson.NewObjectID()
		add := func(parent bson.ObjectID, slug string) error {
			_, err := s.Add(ctx, parent, slug, "")
			return err
		}
		for _, c := range []struct {
			name string
			err  error
			want error
		}{
			{"empty slug", add(category.Top, ""), category.ErrBadSlug},
			{"slash", add(category.Top, "a/b"), category.ErrBadSlug},
			{"long slug", s.Rename(ctx, s.id["bop"], strings.Repeat("x", 201), ""), category.ErrBadSlug},
			{"taken", add(s.id["swing"], "bop"), category.ErrSlugTaken},
			{"taken by renaming", s.Rename(ctx, s.id["bop"], "swing", "Swing"), category.ErrSlugTaken},
			{"no parent", add(nobody, "x"), category.ErrNotFound},
			{"below itself", s.Move(ctx, s.id["bop"], s.id["bop"]), category.ErrCycle},
			{"below its child", s.Move(ctx, s.id["ragtime"], s.id["modal-jazz"]), category.ErrCycle},
			{"move nobody", s.Move(ctx, nobody, category.Top), category.ErrNotFound},
			{"move below nobody", s.Move(ctx, s.id["bop"], nobody), category.ErrNotFound},
			{"rename nobody", s.Rename(ctx, nobody, "x", ""), category.ErrNotFound},
			{"remove nobody", s.Remove(ctx, nobody), category.ErrNotFound},
			{"remove a parent", s.Remove(ctx, s.id["bop"]), category.ErrHasChildren},
			{"assign nobody", s.Assign(ctx, "birdland", nobody), category.ErrNotFound},
			{"assign no product", s.Assign(ctx, "nothing", s.id["bop"]), mongo.ErrNoDocuments},
			{"reorder others", s.Reorder(ctx, s.id["bop"], s.id["swing"]), category.ErrNotFound},
		} {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: %v, and not %v", c.name, c.err, c.want)
			}
		}
		equal(t, "nothing has changed", s.trail("modal-jazz")+", "+s.trail("swing"),
			"Ragtime > Bop > Modal Jazz, Ragtime > Swing")
		s.sound()
	})
}

func TestDepth(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		db := patterntest.Open(t)
		s := genres(t, db, d)
		flat, err := category.New(db, category.Config{Design: d, MaxDepth: 3})
		s.must(err)
		if _, err := flat.Add(t.Context(), s.id["modal-jazz"], "x", ""); !errors.Is(err, category.ErrTooDeep) {
			t.Errorf("a fourth level: %v", err)
		}
		if err := flat.Move(t.Context(), s.id["bop"], s.id["swing"]); !errors.Is(err, category.ErrTooDeep) {
			t.Errorf("a fourth level by moving: %v", err)
		}
		s.must(flat.Move(t.Context(), s.id["modal-jazz"], s.id["swing"]))
		s.sound()
	})
}

// TestCrash interrupts every change at every point. A later process finishes a change that has
// begun.
func TestCrash(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(ctx context.Context, s *shop) error
		after string
	}{
		"add": {func(ctx context.Context, s *shop) error {
			_, err := s.Add(ctx, s.id["bop"], "hard-bop", "Hard Bop")
			return err
		}, "Ragtime > Bop > Hard Bop"},
		"move": {
			func(ctx context.Context, s *shop) error { return s.Move(ctx, s.id["bop"], s.id["swing"]) },
			"Ragtime > Swing > Bop > Modal Jazz",
		},
		"rename": {
			func(ctx context.Context, s *shop) error { return s.Rename(ctx, s.id["bop"], "bebop", "BeBop") },
			"Ragtime > BeBop > Modal Jazz",
		},
		"remove": {func(ctx context.Context, s *shop) error { return s.Remove(ctx, s.id["modal-jazz"]) }, ""},
		"assign": {func(ctx context.Context, s *shop) error {
			return s.Assign(ctx, "kind-of-blue", s.id["bop"], s.id["swing"])
		}, "Ragtime > Bop"},
		"repair": {func(ctx context.Context, s *shop) error {
			if _, err := s.db.Collection("categories.state").
				UpdateOne(ctx, bson.D{{"_id", "tree"}}, s.begun()); err != nil {
				return err
			}
			s.clock.Advance(time.Minute)
			_, err := s.Repair(ctx)
			return err
		}, "Ragtime > Swing > Bop > Modal Jazz"},
	} {
		t.Run(name, func(t *testing.T) {
			designs(t, func(t *testing.T, d category.Design) {
				ids := map[string]bson.ObjectID{}
				state := func(s *shop) string {
					if name == "add" {
						return s.trail("hard-bop")
					}
					return s.trail("modal-jazz") + s.products("swing", category.AndBelow)
				}
				var before, done string
				patterntest.Crash(t, patterntest.Scenario{
					Setup: func(t *testing.T, db *mongo.Database) {
						s := genres(t, db, d)
						ids, before = s.id, state(s)
					},
					Operation: func(ctx context.Context, db *mongo.Database) error {
						s := open(t, db, d)
						s.id = ids
						return c.do(ctx, s)
					},
					After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
						s := open(t, db, d)
						s.id = ids
						s.clock.Advance(time.Hour)
						if _, err := s.Repair(t.Context()); err != nil {
							t.Fatal(err)
						}
						s.sound()
						done = state(s)
						if death.Err == nil && done == before {
							t.Errorf("%v: it was said to be done, and was not", death)
						}
						if done != before && !strings.HasPrefix(done, c.after) && c.after != "" {
							t.Errorf("%v: %s", death, done)
						}
					},
				})
				if done == before {
					t.Errorf("nothing has changed: %s", done)
				}
			})
		})
	}
}

// begun returns a stored change that moves bop below swing.
func (s *shop) begun() bson.D {
	return bson.D{
		{"$set", bson.D{
			{"change", bson.D{{"op", "move"}, {"id", s.id["bop"]}, {"parent", s.id["swing"]}}},
			{"until", s.clock.Now().Add(time.Minute)},
		}},
		{"$inc", bson.D{{"seq", int64(1)}}},
	}
}

// TestTakenOver starts a change whose process then dies. A later change waits until the deadline,
// finishes the first change, and then happens itself.
func TestTakenOver(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		db := patterntest.Open(t)
		s := genres(t, db, d)
		_, err := db.Collection("categories.state").UpdateOne(t.Context(), bson.D{{"_id", "tree"}}, s.begun())
		s.must(err)
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := s.Remove(short, s.id["modal-jazz"]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while another changes the tree: %v", err)
		}
		s.clock.Advance(time.Minute)
		s.must(s.Remove(t.Context(), s.id["modal-jazz"]))
		equal(t, "the first one is done too", s.trail("bop"), "Ragtime > Swing > Bop")
		s.sound()
	})
}

// TestConcurrent changes a tree from many goroutines. Each adds its own slugs, and all of them move
// and rename any category.
func TestConcurrent(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		const workers, rounds = 6, 15
		db := patterntest.Open(t)
		s := genres(t, db, d)
		tree, err := category.New(db, category.Config{Design: d, MaxDepth: 6})
		s.must(err)
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(w), 1))
				for i := range rounds {
					if err := anyChange(t.Context(), tree, rng, fmt.Sprintf("%d-%d", w, i)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		s.sound()
	})
}

func anyChange(ctx context.Context, tree *category.Tree, rng *rand.Rand, slug string) error {
	tops, err := tree.Children(ctx, category.Top)
	if err != nil || len(tops) == 0 {
		return err
	}
	all, err := tree.Subtree(ctx, tops[rng.IntN(len(tops))].ID)
	if err != nil || len(all) == 0 {
		return expected(err)
	}
	a, b := all[rng.IntN(len(all))].ID, all[rng.IntN(len(all))].ID
	switch rng.IntN(6) {
	case 0, 1:
		_, err = tree.Add(ctx, a, slug, slug)
	case 2:
		err = tree.Move(ctx, a, b)
	case 3:
		err = tree.Rename(ctx, a, slug, slug)
	case 4:
		err = tree.Remove(ctx, a)
	default:
		err = tree.Assign(ctx, "birdland", a, b)
	}
	return expected(err)
}

// expected returns nil for the errors that concurrent changes can cause.
func expected(err error) error {
	for _, answer := range []error{
		category.ErrNotFound, category.ErrCycle,
		category.ErrHasChildren, category.ErrTooDeep,
	} {
		if errors.Is(err, answer) {
			return nil
		}
	}
	return err
}

func TestNoScans(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		server := patterntest.Start(t)
		s := genres(t, server.Database(), d)
		n := server.NoScans(t, func(_ context.Context, db *mongo.Database) {
			watched := open(t, db, d)
			watched.id = s.id
			watched.add("bop", "hard-bop", "Hard Bop")
			watched.product("mosaic", "hard-bop")
			watched.must(watched.Move(t.Context(), s.id["bop"], s.id["swing"]))
			watched.must(watched.Rename(t.Context(), s.id["bop"], "bebop", "BeBop"))
			watched.must(watched.Remove(t.Context(), s.id["hard-bop"]))
			watched.trail("modal-jazz")
			watched.children("ragtime")
			watched.subtree("ragtime")
			watched.products("ragtime", category.Here)
			watched.products("ragtime", category.AndBelow)
			watched.must(watched.Reorder(t.Context(), s.id["ragtime"], s.id["swing"]))
		})
		if n < 20 {
			t.Errorf("%d commands were explained", n)
		}
	})
}

// TestCovered checks that a menu is read from an index alone.
func TestCovered(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		s := genres(t, patterntest.Open(t), d)
		var plan struct {
			ExecutionStats struct {
				Docs     int `bson:"totalDocsExamined"`
				Returned int `bson:"nReturned"`
			} `bson:"executionStats"`
		}
		s.must(s.db.RunCommand(t.Context(), bson.D{{"explain", bson.D{
			{"find", "categories"},
			{"filter", bson.D{{"parent", s.id["ragtime"]}}},
			{"sort", bson.D{{"rank", 1}, {"slug", 1}}},
			{"projection", bson.D{{"parent", 1}, {"rank", 1}, {"slug", 1}, {"name", 1}, {"_id", 1}}},
		}}, {"verbosity", "executionStats"}}).Decode(&plan))
		if plan.ExecutionStats.Docs != 0 || plan.ExecutionStats.Returned != 2 {
			t.Errorf("%d documents were read for %d", plan.ExecutionStats.Docs, plan.ExecutionStats.Returned)
		}
	})
}

// TestViolations breaks each rule, and checks that Check reports it and that Repair corrects it if
// possible.
func TestViolations(t *testing.T) {
	set := func(fields ...bson.E) bson.D { return bson.D{{"$set", bson.D(fields)}} }
	for _, broken := range []struct {
		rule  string
		wrong func(s *shop) (coll string, id any, change bson.D)
	}{
		{category.RuleParent, func(s *shop) (string, any, bson.D) {
			return "categories", s.id["bop"], set(bson.E{"parent", bson.NewObjectID()})
		}},
		{category.RuleCycle, func(s *shop) (string, any, bson.D) {
			return "categories", s.id["ragtime"], set(bson.E{"parent", s.id["bop"]})
		}},
		{category.RuleCopies, func(s *shop) (string, any, bson.D) {
			return "categories", s.id["modal-jazz"], set(bson.E{"ancestors", bson.A{}}, bson.E{"path", "/modal-jazz/"})
		}},
		// The name in a copy is too short, or the path leads through another slug that begins with
		// the same letters.
		{category.RuleCopies, func(s *shop) (string, any, bson.D) {
			if s.design == category.Paths {
				return "categories", s.id["bop"], set(bson.E{"path", "/ragtimes/bop/"})
			}
			return "categories", s.id["bop"], set(bson.E{"ancestors.0.name", "Rag"})
		}},
		{category.RuleProduct, func(s *shop) (string, any, bson.D) {
			tags := bson.A{bson.NewObjectID()}
			if s.design == category.Paths {
				tags = bson.A{
					bson.D{{"_id", bson.NewObjectID()}, {"path", "/gone/"}},
					bson.D{{"_id", s.id["bop"]}, {"path", "/"}},
				}
			}
			return "products", "birdland", set(bson.E{"categories", tags})
		}},
		{category.RuleChange, func(s *shop) (string, any, bson.D) {
			return "categories.state", "tree", set(bson.E{"until", s.clock.Now()},
				bson.E{"change", bson.D{{"op", "remove"}, {"id", s.id["swing"]}}})
		}},
	} {
		rule := broken.rule
		t.Run(rule, func(t *testing.T) {
			designs(t, func(t *testing.T, d category.Design) {
				s := genres(t, patterntest.Open(t), d)
				coll, id, change := broken.wrong(s)
				_, err := s.db.Collection(coll).UpdateByID(t.Context(), id, change)
				s.must(err)
				if got := rules(t, s); !slices.Contains(got, rule) {
					t.Errorf("told: %v", got)
				}
				if n, err := s.Repair(t.Context()); err != nil || (n == 0 && rule != category.RuleChange) {
					t.Errorf("%d documents mended: %v", n, err)
				}
				s.sound()
				if n, err := s.Repair(t.Context()); err != nil || n != 0 {
					t.Errorf("%d documents mended when all was right: %v", n, err)
				}
			})
		})
	}
}

// TestSlugAndDepthViolations breaks the rules that Repair leaves to people.
func TestSlugAndDepthViolations(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		s := open(t, patterntest.Open(t), d)
		s.must(s.EnsureIndexes(t.Context()))
		s.add("", "a", "A")
		s.add("a", "b", "B")
		s.must(s.db.Collection("categories").Indexes().DropOne(t.Context(), "slug_1"))
		_, err := s.db.Collection("categories").
			UpdateByID(t.Context(), s.id["b"], bson.D{{"$set", bson.D{{"slug", "a"}}}})
		s.must(err)
		if got := rules(t, s); !slices.Contains(got, category.RuleSlug) {
			t.Errorf("told: %v", got)
		}
		flat, err := category.New(s.db, category.Config{Design: d, MaxDepth: 1})
		s.must(err)
		s.Tree = flat
		if got := rules(t, s); !slices.Contains(got, category.RuleDepth) {
			t.Errorf("told: %v", got)
		}
	})
}

func rules(t *testing.T, s *shop) (out []string) {
	t.Helper()
	violations, err := s.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		out = append(out, v.Rule)
	}
	return out
}

func TestConfig(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	for _, cfg := range []category.Config{{Design: 7}, {Design: -1}, {Lease: -1}, {MaxDepth: -1}} {
		if _, err := category.New(db, cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
	tree, err := category.New(db, category.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Errorf("shard: %v", err)
	}
}
