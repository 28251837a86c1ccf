package relation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/relation"
)

type author struct {
	ID    int `bson:"_id"`
	Name  string
	Books []int
}

type book struct {
	ID         int `bson:"_id"`
	Title      string
	Categories []int
	Authors    []int
}

func newRelations(t testing.TB, db *mongo.Database, limit int) *relation.Relations {
	t.Helper()
	r, err := relation.New(db, relation.Config{Max: limit})
	wantErr(t, err, nil)
	return r
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v, want %v", err, want)
	}
}

type checker interface {
	Check(ctx context.Context) ([]patterns.Violation, error)
}

func mustHold(t testing.TB, c checker) {
	t.Helper()
	violations, err := c.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

func insert(t testing.TB, db *mongo.Database, coll string, docs ...any) {
	t.Helper()
	_, err := db.Collection(coll).InsertMany(context.Background(), docs)
	wantErr(t, err, nil)
}

// library creates three authors and three books. Author 1 has the books 1 and 2.
func library(t testing.TB, db *mongo.Database, limit int) *relation.Relations {
	t.Helper()
	r := newRelations(t, db, limit)
	wantErr(t, r.EnsureIndexes(context.Background()), nil)
	insert(t, db, "authors", author{ID: 1, Name: "Peter Standford", Books: []int{1, 2}},
		author{ID: 2, Name: "Georg Peterson"}, bson.D{{"_id", 3}})
	insert(t, db, "books", book{ID: 1, Title: "A tale of two people", Authors: []int{1}},
		book{ID: 2, Authors: []int{1}}, book{ID: 3})
	mustHold(t, r)
	return r
}

func rights(t testing.TB, r *relation.Relations, left int) (ids []int) {
	t.Helper()
	var docs []book
	wantErr(t, r.Rights(context.Background(), left, &docs), nil)
	for _, doc := range docs {
		ids = append(ids, doc.ID)
	}
	return ids
}

func lefts(t testing.TB, r *relation.Relations, right int) (ids []int) {
	t.Helper()
	var docs []author
	wantErr(t, r.Lefts(context.Background(), right, &docs), nil)
	for _, doc := range docs {
		ids = append(ids, doc.ID)
	}
	return ids
}

func want(t testing.TB, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	r, ctx := newRelations(t, db, 2), t.Context()
	wantErr(t, r.EnsureIndexes(ctx), nil)
	for i := 1; i <= 3; i++ {
		insert(t, db, "authors", bson.D{{"_id", i}})
		insert(t, db, "books", bson.D{{"_id", i}})
	}
	wantErr(t, r.Link(ctx, 1, 1), nil)
	wantErr(t, r.Link(ctx, 1, 2), nil)
	wantErr(t, r.Link(ctx, 1, 2), nil)
	wantErr(t, r.Link(ctx, 2, 2), nil)
	want(t, rights(t, r, 1), []int{1, 2})
	want(t, lefts(t, r, 2), []int{1, 2})
	wantErr(t, r.Link(ctx, 3, 2), relation.ErrFull)
	wantErr(t, r.Link(ctx, 1, 3), relation.ErrFull) // the list of the left side is full
	want(t, lefts(t, r, 3), []int{})
	wantErr(t, r.Link(ctx, 9, 3), relation.ErrNotFound)
	wantErr(t, r.Link(ctx, 3, 9), relation.ErrNotFound)
	wantErr(t, r.Rights(ctx, 9, &[]book{}), relation.ErrNotFound)
	mustHold(t, r)
	wantErr(t, r.Unlink(ctx, 1, 2), nil)
	wantErr(t, r.Unlink(ctx, 1, 2), nil)
	want(t, rights(t, r, 1), []int{1})
	wantErr(t, r.RemoveRight(ctx, 2), nil)
	want(t, rights(t, r, 2), []int{})
	wantErr(t, r.RemoveLeft(ctx, 1), nil)
	wantErr(t, r.RemoveLeft(ctx, 1), relation.ErrNotFound)
	want(t, lefts(t, r, 1), []int{})
	mustHold(t, r)
	_, err := relation.New(db, relation.Config{Max: -1})
	if err == nil {
		t.Error("at most -1 references")
	}
	wantErr(t, r.Shard(ctx), patterns.ErrNotSharded)
}

// TestSamples is worked examples W053 and W054 of the book, with the book's mistake: author 2 lists
// a book that does not list the author.
func TestSamples(t *testing.T) {
	t.Parallel()
	db, ctx := patterntest.Open(t), t.Context()
	r := newRelations(t, db, 0)
	insert(t, db, "authors", author{1, "Peter Standford", []int{1, 2}}, author{2, "Georg Peterson", []int{2}})
	insert(t, db, "books", book{1, "A tale of two people", []int{1}, []int{1, 2}},
		book{2, "A tale of two space ships", []int{}, []int{1}})
	want(t, rights(t, r, 1), []int{1, 2})
	want(t, lefts(t, r, 2), []int{1})
	violations, err := r.Check(ctx)
	if err != nil || len(violations) != 2 || violations[0].Rule != relation.RuleBoth ||
		violations[1].Rule != relation.RuleBoth {
		t.Errorf("%v %v", violations, err)
	}
	if n, err := r.Repair(ctx); n != 2 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	mustHold(t, r)
	want(t, rights(t, r, 2), []int{1})
	// One-way references: the books of categories.
	of, err := relation.Children(ctx, db.Collection("books"), "categories", []int{1, 2},
		func(b book) []int { return b.Categories })
	if err != nil || len(of) != 1 || len(of[1]) != 1 || of[1][0].ID != 1 {
		t.Errorf("%v %v", of, err)
	}
}

type contact struct {
	ID      int `bson:"_id"`
	Name    string
	Zip     string `bson:"zip_code"`
	Numbers []string
}

type number struct {
	Contact int `bson:"contact_id"`
	Number  string
}

// TestForms is worked example W083 of the books: embedding and references give the same result.
func TestForms(t *testing.T) {
	t.Parallel()
	db, ctx := patterntest.Open(t), t.Context()
	whole := contact{3, "Jenny", "01209", []string{"555-333-3456", "555-334-3411"}}
	insert(t, db, "embedded", whole)
	insert(t, db, "contacts", bson.D{{"_id", 3}, {"name", "Jenny"}, {"zip_code", "01209"}})
	insert(t, db, "numbers", number{3, "555-333-3456"}, number{3, "555-334-3411"}, number{4, "555"})
	joined, err := relation.Load(ctx, db.Collection("contacts"), []int{3, 3, 5}, func(c contact) int { return c.ID })
	wantErr(t, err, nil)
	numbers, err := relation.Children(ctx, db.Collection("numbers"), "contact_id", []int{3, 3},
		func(n number) []int { return []int{n.Contact} })
	wantErr(t, err, nil)
	jenny := joined[3]
	for _, n := range numbers[3] {
		jenny.Numbers = append(jenny.Numbers, n.Number)
	}
	var embedded contact
	wantErr(t, db.Collection("embedded").FindOne(ctx, bson.D{}).Decode(&embedded), nil)
	if !reflect.DeepEqual(jenny, embedded) || len(joined) != 1 || len(numbers) != 1 {
		t.Errorf("%v, want %v", jenny, embedded)
	}
}

type user struct {
	ID      int `bson:"_id"`
	Name    string
	Age     int
	Address address
}

type address struct{ Street, City string }

type linkedAddress struct {
	User         int `bson:"user_id"`
	Street, City string
}

// TestW084 has a user with an address, embedded and with a link: the result is the same, and a
// second address is not possible.
func TestW084(t *testing.T) {
	t.Parallel()
	db, ctx := patterntest.Open(t), t.Context()
	pairs := newPairs(t, db, "user_id")
	whole := user{1, "Peter Wilkinson", 27, address{"100 some road", "Nevermore"}}
	insert(t, db, "embedded", whole)
	insert(t, db, "users", bson.D{{"_id", 1}, {"name", "Peter Wilkinson"}, {"age", 27}})
	insert(t, db, "addresses", linkedAddress{1, "100 some road", "Nevermore"})
	var embedded, linked user
	wantErr(t, db.Collection("embedded").FindOne(ctx, bson.D{{"_id", 1}}).Decode(&embedded), nil)
	wantErr(t, db.Collection("users").FindOne(ctx, bson.D{{"_id", 1}}).Decode(&linked), nil)
	var part linkedAddress
	wantErr(t, db.Collection("addresses").FindOne(ctx, bson.D{{"user_id", linked.ID}}).Decode(&part), nil)
	linked.Address = address{part.Street, part.City}
	if linked != whole || embedded != whole {
		t.Errorf("%v and %v, want %v", linked, embedded, whole)
	}
	if _, err := db.Collection("addresses").InsertOne(ctx, linkedAddress{User: 1}); !mongo.IsDuplicateKeyError(err) {
		t.Error(err)
	}
	mustHold(t, pairs)
}

func newPairs(t testing.TB, db *mongo.Database, ref string) *relation.OneToOne {
	t.Helper()
	pairs, err := relation.NewOneToOne(db, relation.OneToOneConfig{Ref: ref})
	wantErr(t, err, nil)
	wantErr(t, pairs.EnsureIndexes(context.Background()), nil)
	return pairs
}

// TestOneToOneBroken inserts invalid pairs, like other programs could. Check finds each of them.
func TestOneToOneBroken(t *testing.T) {
	t.Parallel()
	id := func(id int) bson.D { return bson.D{{"_id", id}} }
	of := func(user int) bson.D { return bson.D{{"user_id", user}} }
	for name, c := range map[string]struct {
		ref   string
		users []any
		parts []any
		rule  string
	}{
		"no address":         {"", []any{id(1), id(2)}, []any{id(1)}, relation.RuleOne},
		"no user":            {"", []any{id(1)}, []any{id(1), id(2)}, relation.RuleExists},
		"two addresses":      {"user_id", []any{id(1)}, []any{of(1), of(1)}, relation.RuleOne},
		"an address of none": {"user_id", []any{id(1)}, []any{of(1), id(5)}, relation.RuleExists},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			pairs, err := relation.NewOneToOne(db, relation.OneToOneConfig{Ref: c.ref})
			wantErr(t, err, nil)
			insert(t, db, "users", c.users...)
			insert(t, db, "addresses", c.parts...)
			violations, err := pairs.Check(t.Context())
			if len(violations) != 1 || violations[0].Rule != c.rule {
				t.Errorf("%v %v", violations, err)
			}
			if c.ref != "" { // without the unique index
				wantErr(t, err, patterns.ErrNotPrepared)
				return
			}
			wantErr(t, err, nil)
		})
	}
	if _, err := relation.NewOneToOne(nil, relation.OneToOneConfig{Owners: "c", Parts: "c"}); err == nil {
		t.Error("a collection is its own partner")
	}
	wantErr(t, newPairs(t, patterntest.Open(t), "user_id").Shard(t.Context()), patterns.ErrNotSharded)
}

func TestLoader(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	var docs []any
	for i := range 2500 {
		docs = append(docs, author{ID: i, Name: fmt.Sprint(i)})
	}
	insert(t, server.Database(), "authors", docs...)
	ids := make([]int, 3000)
	for i := range ids {
		ids[i] = i % 2600
	}
	n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		l := relation.NewLoader(db.Collection("authors"), func(a author) int { return a.ID })
		for range 2 {
			got, err := l.Many(ctx, ids...)
			wantErr(t, err, nil)
			for i, a := range got {
				if (ids[i] < 2500) != (a != nil) || a != nil && a.ID != ids[i] {
					t.Fatalf("%d: %v", ids[i], a)
				}
			}
		}
	})
	want(t, n, 3)
}

func TestAdvise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shape relation.Shape
		want  relation.Design
	}{
		{relation.Shape{Parents: 1, Children: 1}, relation.Embed},
		{relation.Shape{Parents: 1, Children: 5}, relation.Embed},
		{relation.Shape{Parents: 1, Children: 5, Alone: true}, relation.Link},
		{relation.Shape{Parents: 1, Children: 1000, Grows: true}, relation.Buckets},
		{relation.Shape{Parents: 3, Children: 5}, relation.TwoWay},
		{relation.Shape{Parents: 3, Children: 500000}, relation.OneWay},
		{relation.Shape{Parents: 500, Children: 500}, relation.Pairs},
		{relation.Shape{Parents: 500000, Children: 1, Frozen: true}, relation.Embed},
	} {
		if got, why := relation.Advise(c.shape); got != c.want || why == "" {
			t.Errorf("%+v: %s (%s), want %s", c.shape, got, why, c.want)
		}
	}
}

// TestTogether links and unlinks the same pairs at the same time.
func TestTogether(t *testing.T) {
	t.Parallel()
	db, ctx := patterntest.Open(t), t.Context()
	r := newRelations(t, db, 2)
	for i := range 3 {
		insert(t, db, "authors", bson.D{{"_id", i}})
		insert(t, db, "books", bson.D{{"_id", i}})
	}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(w)))
			for range 60 {
				left, right := random.IntN(3), random.IntN(3)
				err := error(nil)
				switch random.IntN(5) {
				case 0, 1:
					err = r.Link(ctx, left, right)
				case 2, 3:
					err = r.Unlink(ctx, left, right)
				default:
					_, err = r.Repair(ctx)
				}
				if err != nil && !errors.Is(err, relation.ErrFull) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustHold(t, r)
}

// TestCrash lets every operation die at every point. Readers see what the right side says, even
// before Repair.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]struct {
		do     func(ctx context.Context, r *relation.Relations) error
		behind string
		points int
	}{
		"link":   {func(ctx context.Context, r *relation.Relations) error { return r.Link(ctx, 2, 1) }, "[1 2] [1]", 6},
		"unlink": {func(ctx context.Context, r *relation.Relations) error { return r.Unlink(ctx, 1, 2) }, "[1] []", 6},
		"remove left": {func(ctx context.Context, r *relation.Relations) error {
			return r.RemoveLeft(ctx, 1)
		}, "[] []", 4},
		"repair": {func(ctx context.Context, r *relation.Relations) error {
			_,
				err := r.Repair(ctx)
			return err
		}, "[1 2] [1]", 10},
		"remove right": {func(ctx context.Context, r *relation.Relations) error {
			return r.RemoveRight(ctx, 2)
		}, "[1] []", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) {
					library(t, db, 0)
					if name == "repair" { // half of a link exists
						half := bson.D{{"$push", bson.D{{"authors", 2}}}}
						_, err := db.Collection("books").UpdateByID(t.Context(), 1, half)
						wantErr(t, err, nil)
					}
				},
				Operation: func(ctx context.Context, db *mongo.Database) error {
					return op.do(ctx, newRelations(t, db, 0))
				},
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					if death.Survived && death.Err != nil {
						t.Error(death.Err)
					}
					r := newRelations(t, db, 0)
					if _, err := r.Repair(t.Context()); err != nil {
						t.Fatal(err)
					}
					if n, err := r.Repair(t.Context()); n != 0 || err != nil {
						t.Errorf("repair does not end: %d %v", n, err)
					}
					mustHold(t, r)
					now := fmt.Sprint(lefts(t, r, 1))
					if err := r.Lefts(t.Context(), 2, &[]author{}); errors.Is(err, relation.ErrNotFound) {
						now += " []"
					} else {
						now += " " + fmt.Sprint(lefts(t, r, 2))
					}
					if now != op.behind && (death.Survived || now != "[1] [1]") {
						t.Error(now)
					}
				},
			})
			want(t, points, op.points)
		})
	}
}

func TestScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	library(t, server.Database(), 0)
	b, err := relation.NewBuckets(server.Database(), relation.BucketConfig{})
	wantErr(t, err, nil)
	wantErr(t, b.EnsureIndexes(t.Context()), nil)
	n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		r := newRelations(t, db, 0)
		wantErr(t, r.Link(ctx, 2, 1), nil)
		wantErr(t, r.Unlink(ctx, 1, 1), nil)
		want(t, rights(t, r, 2), []int{1})
		want(t, lefts(t, r, 1), []int{2})
		wantErr(t, r.RemoveLeft(ctx, 2), nil)
		wantErr(t, r.RemoveRight(ctx, 2), nil)
		b, err := relation.NewBuckets(db, relation.BucketConfig{Size: 1})
		wantErr(t, err, nil)
		for range 2 {
			_, err = b.Add(ctx, 7, "x")
			wantErr(t, err, nil)
		}
		_, err = b.Count(ctx, 7)
		wantErr(t, err, nil)
		wantErr(t, b.Page(ctx, 7, 1, &[]string{}), nil)
	})
	if n < 18 {
		t.Errorf("%d commands were explained", n)
	}
}

// TestBroken inserts invalid references, like other programs could. Check finds each of them, and
// Repair corrects them unless it would have to shorten a list.
func TestBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		coll string
		doc  any
		rule string
		keep bool // Repair does not shorten lists
	}{
		"left only":  {"authors", author{ID: 9, Books: []int{3}}, relation.RuleBoth, false},
		"right only": {"books", book{ID: 9, Authors: []int{2}}, relation.RuleBoth, false},
		"no book":    {"authors", author{ID: 9, Books: []int{99}}, relation.RuleExists, false},
		"no author":  {"books", book{ID: 9, Authors: []int{99}}, relation.RuleExists, false},
		"long":       {"books", book{ID: 9, Authors: []int{1, 2, 3}}, relation.RuleMax, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			r, ctx := library(t, db, 2), t.Context()
			insert(t, db, c.coll, c.doc)
			violations, err := r.Check(ctx)
			if err != nil || !slices.ContainsFunc(violations,
				func(v patterns.Violation) bool { return v.Rule == c.rule && v.Collection == c.coll }) {
				t.Fatalf("%v %v", violations, err)
			}
			_, err = r.Repair(ctx)
			wantErr(t, err, nil)
			if !c.keep {
				mustHold(t, r)
			}
		})
	}
	db := patterntest.Open(t)
	r, ctx := library(t, db, 0), t.Context()
	_, err := db.Collection("authors").UpdateByID(ctx, 1, bson.D{{"$set", bson.D{{"books", bson.A{1, 2, 1}}}}})
	wantErr(t, err, nil)
	violations, err := r.Check(ctx)
	if err != nil || len(violations) != 1 || violations[0].Rule != relation.RuleOnce {
		t.Errorf("%v %v", violations, err)
	}
	_, err = r.Repair(ctx)
	wantErr(t, err, nil)
	mustHold(t, r)
	want(t, rights(t, r, 1), []int{1, 2})
}
