// Command photos is an album of several people. They sign up with an e-mail address or an account
// of another service. They search for photos by their attributes, read the photos page by page, and
// like them. One process at a time makes the previews. The program demonstrates patterns/identity,
// metadata, paging and lock.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns/identity"
	"github.com/sheafdb/sheaf/patterns/lock"
	"github.com/sheafdb/sheaf/patterns/metadata"
	"github.com/sheafdb/sheaf/patterns/paging"
)

func main() { demo.Main("photos", run) }

func run(ctx context.Context, out io.Writer, db *mongo.Database) error {
	for _, step := range []func(context.Context, io.Writer, *mongo.Database) error{
		signUp,
		search, turn, previews, like,
	} {
		if err := step(ctx, out, db); err != nil {
			return err
		}
	}
	return nil
}

// signUp registers two people with the same address. The second one is refused. It also merges two
// accounts of one person.
func signUp(ctx context.Context, out io.Writer, db *mongo.Database) error {
	users, err := identity.New(db, identity.Config{})
	if err != nil {
		return err
	}
	if err := users.EnsureIndexes(ctx); err != nil {
		return err
	}
	if _, err = users.Register(ctx, "ada", nil, identity.Name("Ada"), identity.Email("ada@example.com")); err != nil {
		return err
	}
	_, err = users.Register(ctx, "bob", nil, identity.Name("Bob"), identity.Email("Ada@Example.com"))
	fmt.Fprintln(out, "bob hears that the address is taken:", errors.Is(err, identity.ErrTaken))
	if _, err = users.Register(ctx, "u2", nil, identity.OAuth("github", "1815")); err != nil {
		return err
	}
	if err := users.Merge(ctx, "ada", "u2"); err != nil {
		return err
	}
	owner, err := users.Owner(ctx, identity.OAuth("github", "1815"))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "the account elsewhere is that of", owner)
	return demo.Check(ctx, out, "identity", users)
}

// search stores photos with attributes of any name, and searches by these attributes.
func search(ctx context.Context, out io.Writer, db *mongo.Database) error {
	attributes, err := metadata.New(db, metadata.Config{Collection: "photos"})
	if err != nil {
		return err
	}
	if err := attributes.EnsureIndexes(ctx); err != nil {
		return err
	}
	for i, camera := range []string{"Canon", "Canon", "Leica", "Canon", "Leica"} {
		if _, err := db.Collection("photos").InsertOne(ctx, bson.D{{"_id", i}, {"taken", 2020 - i/2}}); err != nil {
			return err
		}
		err := errors.Join(attributes.Set(ctx, i, "camera", camera), attributes.Set(ctx, i, "aperture", 2.8+float64(i)))
		if err != nil {
			return err
		}
	}
	filter, err := attributes.Filter(metadata.Equal("camera", "Canon"), metadata.Between("aperture", 3, nil))
	if err != nil {
		return err
	}
	n, err := db.Collection("photos").CountDocuments(ctx, filter)
	if err != nil {
		return err
	}
	facets, err := attributes.Facets(ctx, []string{"camera"}, 10)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "by Canon with an aperture of 3 and more: %d; cameras: %v\n", n, facets["camera"])
	return demo.Check(ctx, out, "metadata", attributes)
}

type photo struct {
	ID    int `bson:"_id"`
	Taken int
}

// turn reads photos in pages of two. A photo that is added before the first page does not shift the
// following pages.
func turn(ctx context.Context, out io.Writer, db *mongo.Database) error {
	pages, err := paging.New[photo](db, paging.Config{Collection: "photos", Sort: bson.D{{"taken", 1}}, Size: 2})
	if err != nil {
		return err
	}
	if err := pages.EnsureIndexes(ctx); err != nil {
		return err
	}
	page, err := pages.First(ctx)
	if err != nil {
		return err
	}
	if _, err := db.Collection("photos").InsertOne(ctx, bson.D{{"_id", 9}, {"taken", 1999}}); err != nil {
		return err
	}
	for {
		fmt.Fprintln(out, "page:", page.Items)
		if page.Next == nil {
			return nil
		}
		if page, err = pages.After(ctx, page.Next); err != nil {
			return err
		}
	}
}

// previews makes previews under a lock. While it holds the lock, another attempt to take the lock
// fails.
func previews(ctx context.Context, out io.Writer, db *mongo.Database) error {
	locks, err := lock.New(db, lock.Config{})
	if err != nil {
		return err
	}
	return locks.Do(ctx, "previews", func(ctx context.Context, lease *lock.Lease) error {
		_, err := locks.Acquire(ctx, "previews")
		fmt.Fprintln(out, "making previews with token", lease.Token(),
			"while another one hears that it is held:", errors.Is(err, lock.ErrHeld))
		return nil
	})
}

// like adds twenty likes concurrently without a lock. No like is lost.
func like(ctx context.Context, out io.Writer, db *mongo.Database) error {
	likes, err := lock.NewTallies(db, lock.TallyConfig{Collection: "likes"})
	if err != nil {
		return err
	}
	errs := make([]error, 20)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = likes.Add(ctx, "photo-3", []string{"heart", "star"}[i%2], 1) })
	}
	wg.Wait()
	t, err := likes.Add(ctx, "photo-3", "star", -1)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	fmt.Fprintf(out, "photo-3 has %d likes of %d kinds: %v\n", t.Total, t.Kinds, t.Counts)
	return demo.Check(ctx, out, "lock.Tallies", likes)
}
