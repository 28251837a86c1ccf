package identity

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// sweepBatch is the number of identities that Repair checks with one query.
const sweepBatch = 1000

// Repair finishes claims, merges and deletions whose processes died, and removes identities without
// a user. Any number of processes may call it at any time, also at the same time. It reads all
// identities. It returns the number of corrections.
func (s *Identities) Repair(ctx context.Context) (int64, error) {
	n, err := s.recover(ctx)
	m, err2 := s.sweep(ctx)
	k, err3 := s.sweepMerged(ctx)
	return n + m + k, errors.Join(err, err2, err3)
}

// Run does the part of Repair that need not read all identities, in a loop until ctx ends.
func (s *Identities) Run(ctx context.Context) error {
	return patterns.Repeat(ctx, s.env, s.cfg.Pace, "repair of identities failed", func(ctx context.Context) error {
		_, err := s.recover(ctx)
		return err
	})
}

// recover continues claims, merges and deletions whose processes have not finished them.
func (s *Identities) recover(ctx context.Context) (n int64, err error) {
	late := bson.D{{"deadline", bson.D{{"$lte", s.env.Now()}}}}
	for _, job := range []func() error{
		func() error {
			return patterns.Each(ctx, s.claimed, late, func(c *claim) error {
				n++
				s.env.Logger.Info("a claim was ended for its process", "user", c.User, "state", c.State)
				if c.State == stateDone {
					return s.finish(ctx, c)
				}
				return s.giveUp(ctx, c)
			})
		},
		func() error {
			return patterns.Each(ctx, s.coll, bson.D{{"claim", exists(true)}}, func(d *document) error {
				now, err := s.settled(ctx, d.ID)
				if err == nil && (now == nil || now.Claim == nil) {
					n++
				}
				return err
			})
		},
		func() error {
			return patterns.Each(ctx, s.users, bson.D{{"claim", exists(true)}}, s.unborn(ctx, &n))
		},
		func() error {
			return patterns.Each(ctx, s.users, bson.D{{"merging", exists(true)}}, func(u *user) error {
				n++
				return s.finishMerge(ctx, u)
			})
		},
		func() error {
			return patterns.Each(ctx, s.users, bson.D{{"leaving", exists(true)}}, func(u *user) error {
				n++
				return s.delete(ctx, u.ID)
			})
		},
	} {
		err = errors.Join(err, job())
	}
	return n, err
}

// finishMerge continues a merge whose process has not finished it.
func (s *Identities) finishMerge(ctx context.Context, u *user) error {
	if u.Merging == mergeBegun {
		err := s.decide(ctx, u.ID, u.MergedInto)
		// the merge was undone, or another process continues it
		if errors.Is(err, ErrNoUser) || errors.Is(err, ErrBusy) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return s.move(ctx, u.ID, u.MergedInto)
}

// unborn removes users whose registration was given up. A user whose registration has happened lost
// its mark before the claim was removed.
func (s *Identities) unborn(ctx context.Context, n *int64) func(*user) error {
	return func(u *user) error {
		c, err := s.readClaim(ctx, *u.Claim)
		if err != nil || c != nil {
			return err
		}
		res, err := s.users.DeleteOne(ctx, bson.D{{"_id", u.ID}, {"claim", *u.Claim}})
		if err == nil {
			*n += res.DeletedCount
		}
		return wrap(err, "remove a user whose registration was given up")
	}
}

// sweep removes identities whose user is deleted, and moves identities whose user is merged.
func (s *Identities) sweep(ctx context.Context) (n int64, err error) {
	var batch []document
	flush := func() error {
		m, err := s.sweepSome(ctx, batch)
		n, batch = n+m, batch[:0]
		return err
	}
	err = patterns.Each(ctx, s.coll, bson.D{{"claim", exists(false)}}, func(d *document) error {
		if batch = append(batch, *d); len(batch) == sweepBatch {
			return flush()
		}
		return nil
	}, options.Find().SetBatchSize(sweepBatch))
	return n, errors.Join(err, flush())
}

// sweepMerged removes the documents of users that were merged into a deleted user.
func (s *Identities) sweepMerged(ctx context.Context) (n int64, err error) {
	merged := bson.D{{"mergedInto", exists(true)}, {"merging", exists(false)}}
	err = patterns.Each(ctx, s.users, merged, func(u *user) error {
		to, err := s.user(ctx, u.MergedInto)
		if err != nil || to != nil {
			return err
		}
		n++
		s.env.Logger.Warn("a user was merged into one that is deleted", "user", u.ID, "into", u.MergedInto)
		return s.forget(ctx, u.ID, u.MergedInto)
	})
	return n, err
}

func (s *Identities) sweepSome(ctx context.Context, batch []document) (n int64, err error) {
	var ids []string
	for _, d := range batch {
		ids = append(ids, d.User)
	}
	if len(ids) == 0 {
		return 0, nil
	}
	slices.Sort(ids)
	users := map[string]*user{}
	err = patterns.Each(ctx, s.users, bson.D{{"_id", in(slices.Compact(ids))}},
		func(u *user) error { users[u.ID] = u; return nil })
	for _, d := range batch {
		u := users[d.User]
		switch {
		case err != nil:
		case u == nil || u.Leaving:
			n++
			s.env.Logger.Warn("an identity had no user", "identity", d.ID, "user", d.User)
			_, err = s.coll.DeleteOne(ctx, append(byID(d.ID), ownedBy(d.User)...))
		case u.merged():
			n++
			err = s.move(ctx, u.ID, u.MergedInto)
		}
	}
	return n, wrap(err, "look for identities without a user")
}
