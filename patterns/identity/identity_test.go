package identity_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/identity"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

func newIdentities(t testing.TB, db *mongo.Database, clock patterns.Clock) *identity.Identities {
	t.Helper()
	s, err := identity.New(db, identity.Config{Env: patterns.Env{Clock: clock}})
	wantErr(t, err, nil)
	return s
}

// open returns identities with the users peter and mary.
func open(t testing.TB, db *mongo.Database, clock patterns.Clock) *identity.Identities {
	t.Helper()
	s := newIdentities(t, db, clock)
	wantErr(t, s.EnsureIndexes(context.Background()), nil)
	for _, user := range []string{"peter", "mary"} {
		_, err := s.Register(context.Background(), user, bson.D{{"since", 2026}}, identity.Name(user),
			identity.Email(user+"@example.com"))
		wantErr(t, err, nil)
	}
	return s
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v, want %v", err, want)
	}
}

func mustHold(t testing.TB, s *identity.Identities) {
	t.Helper()
	violations, err := s.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

// wantOwner fails the test if another user has the identity. An empty want means that no user has
// it.
func wantOwner(t testing.TB, s *identity.Identities, id identity.Identity, want string) {
	t.Helper()
	got, err := s.Owner(context.Background(), id)
	if want == "" && errors.Is(err, identity.ErrNotFound) {
		return
	}
	if got != want || err != nil {
		t.Errorf("%v is %q's, want %q: %v", id, got, want, err)
	}
}

var (
	phone = identity.Phone("+49 30 1234567")
	oauth = identity.OAuth("Google", "1177")
)

func TestClaim(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	wantErr(t, s.Claim(ctx, "peter", phone), nil)
	wantErr(t, s.Claim(ctx, "peter", identity.Phone("0049 (30) 12345-67")), nil) // another spelling of the same number
	wantErr(t, s.Claim(ctx, "mary", phone), identity.ErrTaken)
	wantErr(t, s.Claim(ctx, "mary", oauth, phone), identity.ErrTaken)
	wantOwner(t, s, oauth, "")
	wantErr(t, s.Claim(ctx, "peter", oauth, phone, identity.Name("Pete")), nil)
	wantErr(t, s.Claim(ctx, "nobody", identity.Name("x")), identity.ErrNoUser)
	wantErr(t, s.Claim(ctx, "nobody", identity.Name("x"), identity.Name("y")), identity.ErrNoUser)
	wantOwner(t, s, identity.Name("x"), "")
	got, err := s.List(ctx, "peter")
	want := []identity.Identity{
		identity.Phone("+49 30 1234567"), identity.Name("Pete"), identity.Name("peter"),
		identity.Email("peter@example.com"), oauth,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
	wantErr(t, s.Release(ctx, "mary", phone), identity.ErrNotFound)
	wantErr(t, s.Release(ctx, "peter", phone, oauth), nil)
	wantErr(t, s.Claim(ctx, "mary", oauth, phone), nil)
	wantOwner(t, s, phone, "mary")
	wantOwner(t, s, identity.OAuth("google", "1177"), "mary")
	mustHold(t, s)
}

func TestRegister(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	_, err := s.Register(ctx, "mary", nil, identity.Name("mary2"))
	wantErr(t, err, identity.ErrUserExists)
	_, err = s.Register(ctx, "mary2", nil, identity.Name("mary2"), identity.Email("MARY@example.com"))
	wantErr(t, err, identity.ErrTaken)
	wantErr(t, s.Claim(ctx, "mary2", oauth), identity.ErrNoUser)
	id, err := s.Register(ctx, "", bson.D{{"city", "Berlin"}}, identity.Name("mary2"))
	wantErr(t, err, nil)
	var doc bson.M
	got, err := s.Find(ctx, identity.Name(" Mary2 "), &doc)
	if want := (bson.M{"_id": id, "city": "Berlin"}); got != id || err != nil || !reflect.DeepEqual(doc, want) {
		t.Errorf("%q %v %v", got, doc, err)
	}
	mustHold(t, s)
}

func TestMerge(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	wantErr(t, s.Merge(ctx, "peter", "peter"), identity.ErrInvalid)
	wantErr(t, s.Merge(ctx, "nobody", "peter"), identity.ErrNoUser)
	wantErr(t, s.Merge(ctx, "peter", "nobody"), identity.ErrNoUser)
	wantErr(t, s.Merge(ctx, "peter", "mary"), nil)
	for _, id := range []identity.Identity{
		identity.Name("mary"),
		identity.Email("mary@example.com"), identity.Name("peter"),
	} {
		wantOwner(t, s, id, "peter")
	}
	wantErr(t, s.Merge(ctx, "peter", "mary"), identity.ErrNoUser)
	wantErr(t, s.Merge(ctx, "mary", "peter"), identity.ErrNoUser)
	wantErr(t, s.Claim(ctx, "mary", oauth), identity.ErrNoUser)
	wantErr(t, s.Delete(ctx, "mary"), identity.ErrNoUser)
	wantErr(t, s.Claim(ctx, "peter", oauth), nil)
	mustHold(t, s)
	wantErr(t, s.Delete(ctx, "peter"), nil)
	for _, id := range []identity.Identity{identity.Name("mary"), oauth} {
		wantOwner(t, s, id, "")
	}
	_, err := s.Register(ctx, "mary", nil, identity.Name("mary"))
	wantErr(t, err, nil)
	mustHold(t, s)
}

// TestMergeChain has a chain of two merges and deletes the last user: the documents of all three
// users disappear.
func TestMergeChain(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	s, ctx := open(t, db, patterntest.NewClock()), t.Context()
	for _, name := range []string{"first", "second"} {
		_, err := s.Register(ctx, name, nil, identity.Name(name))
		wantErr(t, err, nil)
	}
	wantErr(t, s.Merge(ctx, "second", "first"), nil)
	wantErr(t, s.Merge(ctx, "peter", "second"), nil)
	wantOwner(t, s, identity.Name("first"), "peter")
	mustHold(t, s)
	wantErr(t, s.Delete(ctx, "peter"), nil)
	mustHold(t, s)
	n, err := db.Collection("users").CountDocuments(ctx, bson.D{{"mergedInto", bson.D{{"$exists", true}}}})
	if n != 0 || err != nil {
		t.Errorf("%d users are left, %v", n, err)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		normalize func(string) (string, error)
		in, want  string
	}{
		{identity.NormalizeName, " Peter.Pan-1_2 ", "peter.pan-1_2"},
		{identity.NormalizeName, "peter@example.com", ""},
		{identity.NormalizeName, "4930", ""},
		{identity.NormalizeName, "рeter", ""}, // the first letter is Cyrillic
		{identity.NormalizeName, " ", ""},
		{identity.NormalizeEmail, " Peter@Example.COM. ", "peter@example.com"},
		{identity.NormalizeEmail, "a@b@c", ""},
		{identity.NormalizeEmail, "@b", ""},
		{identity.NormalizeEmail, "a b@c", ""},
		{identity.NormalizePhone, "+1 (212) 555-0100", "+12125550100"},
		{identity.NormalizePhone, "0044 20 7946 0000", "+442079460000"},
		{identity.NormalizePhone, "030 1234567", ""},
		{identity.NormalizePhone, "+0301234567", ""},
		{identity.NormalizePhone, "+49 CALL ME", ""},
		{identity.NormalizeOAuth, "GitHub/AbC", "github/AbC"},
		{identity.NormalizeOAuth, "github", ""},
	} {
		got, err := c.normalize(c.in)
		if got != c.want || (c.want == "") != errors.Is(err, identity.ErrInvalid) {
			t.Errorf("%q becomes %q, want %q: %v", c.in, got, c.want, err)
		}
	}
	// Kinds of one space exclude each other.
	ctx := t.Context()
	s, err := identity.New(patterntest.Open(t),
		identity.Config{Kinds: map[string]identity.Kind{"nick": {Space: "n"}, "real": {Space: "n"}, "card": {}}})
	wantErr(t, err, nil)
	for _, user := range []string{"1", "2"} {
		_, err = s.Register(ctx, user, nil, identity.Identity{Kind: "card", Value: user})
		wantErr(t, err, nil)
	}
	wantErr(t, s.Claim(ctx, "1", identity.Identity{Kind: "nick", Value: "ada"}), nil)
	wantErr(t, s.Claim(ctx, "2", identity.Identity{Kind: "real", Value: "ada"}), identity.ErrTaken)
	wantErr(t, s.Claim(ctx, "2", identity.Identity{Kind: "card", Value: "ada"}), nil)
	wantErr(t, s.Claim(ctx, "2", identity.Name("ada")), identity.ErrInvalid)
	wantErr(t, s.Claim(ctx, "2"), identity.ErrInvalid)
	mustHold(t, s)
}

// TestSample is worked examples W116 and W130 of the book: a taken name cannot be taken again.
func TestSample(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	s, ctx := open(t, db, patterntest.NewClock()), t.Context()
	var user struct {
		ID    string `bson:"_id"`
		Since int
	}
	owner, err := s.Find(ctx, identity.Email("peter@example.com"), &user)
	if owner != "peter" || user.ID != "peter" || user.Since != 2026 || err != nil {
		t.Errorf("%q %+v %v", owner, user, err)
	}
	_, err = db.Collection("identities").InsertOne(ctx, bson.D{{"_id", "login:peter@example.com"}})
	if !mongo.IsDuplicateKeyError(err) {
		t.Error(err)
	}
	_, err = s.Register(ctx, "", nil, identity.Name("andrew"), identity.Email("awesome.guy@example.com"))
	wantErr(t, err, nil)
	_, err = s.Register(ctx, "", nil, identity.Name("Andrew"), identity.Email("cool.guy@example.com"))
	wantErr(t, err, identity.ErrTaken)
	wantOwner(t, s, identity.Email("cool.guy@example.com"), "")
}

// TestSlow lets the process of a claim sleep: past the deadline, where the claim is given up, and
// after the commit, where another process finishes the claim.
func TestSlow(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	s, ctx := open(t, patterntest.Open(t), clock), t.Context()
	slow, err := s.OpenClaim(ctx, "peter", phone, oauth)
	wantErr(t, err, nil)
	wantErr(t, slow.Mark(ctx), nil)
	wantOwner(t, s, oauth, "")
	wantErr(t, s.Claim(ctx, "mary", oauth), identity.ErrBusy)
	wantErr(t, s.Claim(ctx, "mary", phone, identity.Name("m")), identity.ErrBusy)
	wantErr(t, s.Release(ctx, "peter", oauth), identity.ErrNotFound)
	if ids, err := s.List(ctx, "peter"); len(ids) != 2 || err != nil {
		t.Errorf("%v %v", ids, err)
	}
	clock.Advance(time.Hour)
	wantErr(t, s.Claim(ctx, "mary", oauth), nil) // this claim gives the expired claim up
	wantErr(t, slow.Commit(ctx), identity.ErrExpired)
	wantOwner(t, s, oauth, "mary")
	wantOwner(t, s, phone, "")
	mustHold(t, s)

	// The claim is given up before it inserts its marks.
	slow, err = s.OpenClaim(ctx, "peter", phone)
	wantErr(t, err, nil)
	clock.Advance(time.Hour)
	_, err = s.Repair(ctx)
	wantErr(t, err, nil)
	wantErr(t, slow.Mark(ctx), nil)
	wantErr(t, s.Claim(ctx, "mary", phone), nil)
	wantErr(t, slow.Commit(ctx), identity.ErrExpired)
	wantOwner(t, s, phone, "mary")
	mustHold(t, s)

	// The claim has happened, and its process sleeps: another process that finds a mark finishes
	// it.
	slow, err = s.OpenClaim(ctx, "peter", identity.Name("a"), identity.Name("b"))
	wantErr(t, err, nil)
	wantErr(t, slow.Mark(ctx), nil)
	wantErr(t, slow.Commit(ctx), nil)
	if ids, err := s.List(ctx, "peter"); len(ids) != 4 || err != nil {
		t.Errorf("%v %v", ids, err)
	}
	mustHold(t, s)
}

func TestScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	open(t, server.Database(), patterntest.NewClock())
	n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		s := newIdentities(t, db, patterntest.NewClock())
		_, err := s.Register(ctx, "ada", nil, oauth, phone)
		wantErr(t, err, nil)
		wantErr(t, s.Claim(ctx, "peter", oauth), identity.ErrTaken)
		wantErr(t, s.Claim(ctx, "ada", identity.Name("ada")), nil)
		_, err = s.List(ctx, "ada")
		wantErr(t, err, nil)
		wantErr(t, s.Release(ctx, "ada", identity.Name("ada")), nil)
		wantErr(t, s.Merge(ctx, "mary", "ada"), nil)
		wantOwner(t, s, phone, "mary")
		wantErr(t, s.Delete(ctx, "mary"), nil)
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		wantErr(t, s.Run(short), context.DeadlineExceeded)
	})
	if n < 20 { // on a slow machine Run may execute fewer commands
		t.Errorf("%d commands were explained", n)
	}
}

func TestNotSharded(t *testing.T) {
	t.Parallel()
	wantErr(t, newIdentities(t, patterntest.Open(t), nil).Shard(t.Context()), patterns.ErrNotSharded)
}

// TestTogether lets many goroutines do all operations at the same time. No identity ever has two
// owners.
func TestTogether(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	names := []identity.Identity{identity.Name("a"), identity.Name("b"), identity.Email("c@d"), phone, oauth}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			some := func() []identity.Identity {
				ids := slices.Clone(names)
				random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
				return ids[:1+random.IntN(3)]
			}
			for i := range 40 {
				user := fmt.Sprint("u", random.IntN(4))
				var err error
				switch random.IntN(8) {
				case 0, 1:
					_, err = s.Register(ctx, user, nil, append(some(), identity.Name(fmt.Sprintf("x%d-%d", w, i)))...)
				case 2, 3:
					err = s.Claim(ctx, user, some()...)
				case 4:
					err = s.Release(ctx, user, some()...)
				case 5:
					err = s.Merge(ctx, fmt.Sprint("u", random.IntN(4)), user)
				case 6:
					err = s.Delete(ctx, user)
				default:
					_, err = s.Repair(ctx)
				}
				if err != nil && !errors.Is(err, identity.ErrTaken) && !errors.Is(err, identity.ErrBusy) &&
					!errors.Is(err, identity.ErrNotFound) &&
					!errors.Is(err, identity.ErrNoUser) && !errors.Is(err, identity.ErrUserExists) &&
					!errors.Is(err, identity.ErrInvalid) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := s.Repair(ctx); err != nil {
		t.Error(err)
	}
	mustHold(t, s)
}

// TestOneWinner lets several users register at the same time with the same identities, next to one
// identity of their own. Exactly one registration succeeds, and it gets all of its identities.
func TestOneWinner(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var winners []string
	for w := range 6 {
		wg.Go(func() {
			user, err := s.Register(ctx, fmt.Sprint("w", w), nil, identity.Name(fmt.Sprint("b", w)),
				identity.Name("a"), phone, oauth)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				winners = append(winners, user)
			} else if !errors.Is(err, identity.ErrBusy) && !errors.Is(err, identity.ErrTaken) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	mustHold(t, s)
	if len(winners) != 1 {
		t.Fatal(winners)
	}
	for _, id := range []identity.Identity{identity.Name("a"), phone, oauth} {
		wantOwner(t, s, id, winners[0])
	}
}
