package identity_test

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/identity"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

func doc(id, kind, value, user string, more ...bson.E) bson.D {
	return append(bson.D{{"_id", id}, {"kind", kind}, {"value", value}, {"user", user}}, more...)
}

// TestBroken inserts invalid documents, like other programs could. Check finds each of them, and
// Repair corrects them if it can know the right value.
func TestBroken(t *testing.T) {
	t.Parallel()
	mark := bson.E{"claim", bson.NewObjectID()}
	for name, c := range map[string]struct {
		coll string
		doc  bson.D
		rule string
		keep bool // Repair cannot know which value is right
	}{
		"no user":    {"identities", doc("login:x", "name", "x", "gone"), identity.RuleUser, false},
		"other form": {"identities", doc("login:X", "name", "X", "mary"), identity.RuleForm, true},
		"no kind":    {"identities", doc("x", "eye", "x", "mary"), identity.RuleForm, true},
		"mark":       {"identities", doc("login:x", "name", "x", "mary", mark), identity.RuleClaim, false},
		"unborn":     {"users", bson.D{{"_id", "x"}, mark}, identity.RuleClaim, false},
		"claim": {"claims", bson.D{
			{"_id", mark.Value},
			{"ids", bson.A{"x"}},
			{"state", "open"},
			{"deadline", patterntest.NewClock().Now()},
		}, identity.RuleClaim, false},
		"merged": {"users", bson.D{{"_id", "x"}, {"mergedInto", "gone"}}, identity.RuleMerge, false},
		"merging": {"users", bson.D{
			{"_id", "x"},
			{"mergedInto", "mary"},
			{"merging", "decided"},
		}, identity.RuleMerge, false},
		"merging none": {
			"users",
			bson.D{{"_id", "x"}, {"mergedInto", "gone"}, {"merging", "begun"}},
			identity.RuleMerge, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			s, ctx := open(t, db, patterntest.NewClock()), t.Context()
			mustHold(t, s)
			_, err := db.Collection(c.coll).InsertOne(ctx, c.doc)
			wantErr(t, err, nil)
			violations, err := s.Check(ctx)
			if err != nil || len(violations) != 1 || violations[0].Rule != c.rule ||
				violations[0].Collection != c.coll {
				t.Fatalf("%v %v", violations, err)
			}
			_, err = s.Repair(ctx)
			wantErr(t, err, nil)
			if !c.keep {
				mustHold(t, s)
			}
		})
	}
}

// TestLeft inserts an identity of a user who was merged, like a process that claimed it during the
// merge and died. Check reports it, the identity belongs to the other user, and Repair corrects it.
func TestLeft(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	s, ctx := open(t, db, patterntest.NewClock()), t.Context()
	wantErr(t, s.Merge(ctx, "peter", "mary"), nil)
	_, err := db.Collection("identities").InsertOne(ctx, doc("login:x", "name", "x", "mary"))
	wantErr(t, err, nil)
	violations, err := s.Check(ctx)
	if err != nil || !slices.ContainsFunc(violations,
		func(v patterns.Violation) bool { return v.Rule == identity.RuleMerge }) {
		t.Errorf("%v %v", violations, err)
	}
	wantOwner(t, s, identity.Name("x"), "peter")
	wantErr(t, s.Release(ctx, "peter", identity.Name("x")), nil)
	_, err = db.Collection("identities").InsertOne(ctx, doc("login:x", "name", "x", "mary"))
	wantErr(t, err, nil)
	if n, err := s.Repair(ctx); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	mustHold(t, s)
}
