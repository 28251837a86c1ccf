package identity_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/identity"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// operation is an operation during which a process may die.
type operation struct {
	do func(ctx context.Context, s *identity.Identities) error
	// before holds the owner of each identity before the operation; behind holds the owners after
	// it.
	before, behind map[identity.Identity]string
	points         int
}

var operations = map[string]operation{
	"one": {
		do:     func(ctx context.Context, s *identity.Identities) error { return s.Claim(ctx, "peter", phone) },
		before: map[identity.Identity]string{phone: ""},
		behind: map[identity.Identity]string{phone: "peter"}, points: 4,
	},
	"all": {
		do:     func(ctx context.Context, s *identity.Identities) error { return s.Claim(ctx, "peter", phone, oauth) },
		before: map[identity.Identity]string{phone: "", oauth: ""},
		behind: map[identity.Identity]string{phone: "peter", oauth: "peter"}, points: 12,
	},
	"register": {
		do: func(ctx context.Context, s *identity.Identities) error {
			_, err := s.Register(ctx, "ada", bson.D{{"since", 1}}, phone, oauth)
			return err
		},
		before: map[identity.Identity]string{phone: "", oauth: ""},
		behind: map[identity.Identity]string{phone: "ada", oauth: "ada"}, points: 16,
	},
	"merge": {
		do: func(ctx context.Context, s *identity.Identities) error { return s.Merge(ctx, "peter", "mary") },
		before: map[identity.Identity]string{
			identity.Name("mary"): "mary", identity.Email("mary@example.com"): "mary", identity.Name("peter"): "peter",
		},
		behind: map[identity.Identity]string{
			identity.Name("mary"): "peter", identity.Email("mary@example.com"): "peter",
			identity.Name("peter"): "peter",
		},
		points: 14,
	},
	"delete": {
		do:     func(ctx context.Context, s *identity.Identities) error { return s.Delete(ctx, "mary") },
		before: map[identity.Identity]string{identity.Name("mary"): "mary", identity.Email("mary@example.com"): "mary"},
		behind: map[identity.Identity]string{identity.Name("mary"): "", identity.Email("mary@example.com"): ""},
		points: 8,
	},
	"repaired": {
		do: func(ctx context.Context, s *identity.Identities) error {
			c, err := s.OpenClaim(ctx, "peter", phone, oauth)
			if err := errors.Join(err, c.Mark(ctx), c.Commit(ctx)); err != nil {
				return err
			}
			s.Clock().(*patterntest.Clock).Advance(time.Hour)
			_, err = s.Repair(ctx)
			return err
		},
		before: map[identity.Identity]string{phone: "", oauth: ""},
		behind: map[identity.Identity]string{phone: "peter", oauth: "peter"}, points: 28,
	},
	"release": {
		do: func(ctx context.Context, s *identity.Identities) error {
			return s.Release(ctx, "mary", identity.Name("Mary"))
		},
		before: map[identity.Identity]string{identity.Name("mary"): "mary"},
		behind: map[identity.Identity]string{identity.Name("mary"): ""}, points: 2,
	},
}

// TestCrash lets every operation die at every point. For all readers the operation has happened or
// not, and this does not change later.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name, op := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) { open(t, db, patterntest.NewClock()) },
				Operation: func(ctx context.Context, db *mongo.Database) error {
					return op.do(ctx, newIdentities(t, db, patterntest.NewClock()))
				},
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					if death.Survived && death.Err != nil {
						t.Error(death.Err)
					}
					clock := patterntest.NewClock()
					s := newIdentities(t, db, clock)
					if seen := op.happened(t, s, false); seen && death.Commands == 0 {
						t.Error("it has happened before it began")
					}
					clock.Advance(time.Hour)
					if _, err := s.Repair(t.Context()); err != nil {
						t.Fatal(err)
					}
					if n, err := s.Repair(t.Context()); n != 0 || err != nil {
						t.Errorf("repair does not end: %d %v", n, err)
					}
					mustHold(t, s)
					if !op.happened(t, s, true) && death.Survived {
						t.Error("it has not happened")
					}
				},
			})
			if points != op.points {
				t.Errorf("%d points, want %d", points, op.points)
			}
		})
	}
}

// happened reports whether all owners are as after the operation. Before Repair, only a deletion
// may be seen half done.
func (op operation) happened(t *testing.T, s *identity.Identities, repaired bool) bool {
	t.Helper()
	before, behind := 0, 0
	for id := range op.before {
		owner, _ := s.Owner(t.Context(), id)
		if owner == op.before[id] {
			before++
		}
		if owner == op.behind[id] {
			behind++
		}
	}
	if before != len(op.before) && behind != len(op.before) {
		t.Errorf("half of it has happened (repaired: %v)", repaired)
	}
	return behind == len(op.before)
}
