package identity

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleUser  = "an identity's user exists"
	RuleForm  = "an identity is stored by its normal form"
	RuleClaim = "nothing is marked by a claim that has ended"
	RuleMerge = "a user is merged into one that exists, and has no identities"
)

// Check reads all collections and lists the violations of the rules. Call it after Repair, while no
// other process changes identities. It keeps the _ids of all users in memory.
func (s *Identities) Check(ctx context.Context) ([]patterns.Violation, error) {
	var out []patterns.Violation
	report := func(rule, coll string, id any, format string, args ...any) {
		out = append(out, patterns.Violation{
			Rule: rule, Collection: coll, ID: id,
			Detail: fmt.Sprintf(format, args...),
		})
	}
	users := map[string]*user{}
	err := patterns.Each(ctx, s.users, bson.D{}, func(u *user) error {
		users[u.ID] = u
		if u.Claim != nil {
			report(RuleClaim, s.cfg.Users, u.ID, "it is marked by claim %s", u.Claim.Hex())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for id, u := range users {
		if u.Merging != "" || u.MergedInto != "" && !leads(users, u) {
			report(RuleMerge, s.cfg.Users, id, "it is merged into %s (%s)", u.MergedInto, u.Merging)
		}
	}
	err = patterns.Each(ctx, s.coll, bson.D{}, func(d *document) error {
		if key, err := s.key(Identity{Kind: d.Kind, Value: d.Value}); err != nil || key != d.ID {
			report(RuleForm, s.cfg.Collection, d.ID, "%s %s should be %s (%v)", d.Kind, d.Value, key, err)
		}
		if d.Claim != nil {
			report(RuleClaim, s.cfg.Collection, d.ID, "it is marked by claim %s", d.Claim.Hex())
		}
		switch u := users[d.User]; {
		case u == nil || u.Leaving:
			report(RuleUser, s.cfg.Collection, d.ID, "there is no user %s", d.User)
		case u.merged():
			report(RuleMerge, s.cfg.Collection, d.ID, "its user %s is merged into %s", d.User, u.MergedInto)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = patterns.Each(ctx, s.claimed, bson.D{}, func(c *claim) error {
		report(RuleClaim, s.cfg.Claims, c.ID, "it is %s", c.State)
		return nil
	})
	return out, err
}

// leads reports whether the chain of merges of a user ends at a user that is not merged.
func leads(users map[string]*user, u *user) bool {
	for range maxMerges {
		if u = users[u.MergedInto]; u == nil {
			return false
		}
		if u.MergedInto == "" {
			return true
		}
	}
	return false
}
