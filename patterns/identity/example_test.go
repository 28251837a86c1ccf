package identity_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/identity"
)

// A registration takes both the name and the address, or neither. A user is found by the name or by
// the address.
func ExampleIdentities_Register() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("site")

	users, err := identity.New(db, identity.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = users.Register(ctx, "peter", bson.D{{"city", "Hamburg"}},
		identity.Name("Peter"), identity.Email("Peter@Example.com"))
	if err != nil {
		log.Fatal(err)
	}
	_, err = users.Register(ctx, "", nil, identity.Name("pan"), identity.Email("peter@example.com"))
	fmt.Println("the address is taken:", errors.Is(err, identity.ErrTaken))
	_, err = users.Owner(ctx, identity.Name("pan"))
	fmt.Println("the name is free:", errors.Is(err, identity.ErrNotFound))

	var user struct{ City string }
	id, err := users.Find(ctx, identity.Email("PETER@example.com"), &user)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id, user.City)
	// Output:
	// the address is taken: true
	// the name is free: true
	// peter Hamburg
}

// A user has registered twice: with an address, and with an account of another service.
func ExampleIdentities_Merge() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ctx := context.Background()
	users, err := identity.New(db.Client().Database("site"), identity.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := users.Register(ctx, "u1", nil, identity.Email("ada@example.com")); err != nil {
		log.Fatal(err)
	}
	_, err = users.Register(ctx, "u2", nil, identity.OAuth("github", "1815"), identity.Phone("+44 20 7946 0000"))
	if err != nil {
		log.Fatal(err)
	}
	if err := users.Merge(ctx, "u1", "u2"); err != nil {
		log.Fatal(err)
	}
	owner, err := users.Owner(ctx, identity.OAuth("GitHub", "1815"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(owner)
	ids, err := users.List(ctx, "u1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ids)
	// Output:
	// u1
	// [{phone +44 20 7946 0000} {email ada@example.com} {oauth github/1815}]
}

// A user confirms a second address and releases the first one. Then another user can claim the
// first address.
func ExampleIdentities_Claim() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ctx := context.Background()
	users, err := identity.New(db.Client().Database("site"), identity.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err1 := users.Register(ctx, "ada", nil, identity.Email("ada@example.com"))
	_, err2 := users.Register(ctx, "eve", nil, identity.Name("eve"))
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	err = users.Claim(ctx, "eve", identity.Email("Ada@example.com"))
	fmt.Println("taken:", errors.Is(err, identity.ErrTaken))
	if err := users.Claim(ctx, "ada", identity.Email("ada@example.org")); err != nil {
		log.Fatal(err)
	}
	if err := users.Release(ctx, "ada", identity.Email("ada@example.com")); err != nil {
		log.Fatal(err)
	}
	if err := users.Claim(ctx, "eve", identity.Email("Ada@example.com")); err != nil {
		log.Fatal(err)
	}
	owner, err := users.Owner(ctx, identity.Email("ada@example.com"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(owner)
	// Output:
	// taken: true
	// eve
}
