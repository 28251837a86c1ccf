package ads

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Request asks for an advertisement.
type Request struct {
	Place Place
	// User identifies the user who sees the advertisement. Without a user, caps do not apply.
	User string
	// Keywords are the words for which the user searches.
	Keywords []string
}

// Impression is an advertisement to show.
type Impression struct {
	// ID identifies the impression. Click uses it.
	ID bson.ObjectID
	Ad Ad
}

// Serve returns the most expensive advertisement of a place that matches the keywords, that the
// user has not seen too often, and that its campaign can pay for. The campaign pays before Serve
// returns. Of several advertisements with the same cost, Serve prefers the one with more of the
// keywords, and then chooses at random. It returns ErrNoAd if no advertisement meets these
// conditions.
func (a *Ads) Serve(ctx context.Context, r Request) (*Impression, error) {
	if err := a.ready(ctx); err != nil {
		return nil, err
	}
	z, err := a.zone(ctx, r.Place)
	if err != nil {
		return nil, fmt.Errorf("ads: serve %v: %w", r.Place, err)
	}
	now := a.env.Now()
	candidates := choose(z.Ads, r.Keywords)
	campaigns, err := a.running(ctx, candidates, now)
	if err != nil {
		return nil, fmt.Errorf("ads: serve %v: %w", r.Place, err)
	}
	for _, ad := range candidates {
		c := campaigns[ad.Campaign]
		if c == nil {
			continue
		}
		i := &Impression{ID: bson.NewObjectID(), Ad: ad}
		served, err := a.try(ctx, i, c, r.User, now)
		if err != nil {
			return nil, fmt.Errorf("ads: serve %v: %w", r.Place, err)
		}
		if served {
			a.env.Metrics.Add("ads.served", 1)
			return i, nil
		}
	}
	a.env.Metrics.Add("ads.empty", 1)
	return nil, ErrNoAd
}

// choose returns the advertisements that match the keywords, the best first.
func choose(all []Ad, keywords []string) []Ad {
	wanted := map[string]bool{}
	for _, k := range keywords {
		wanted[strings.ToLower(k)] = true
	}
	score := map[bson.ObjectID]int{}
	out := slices.DeleteFunc(slices.Clone(all), func(ad Ad) bool {
		for _, k := range ad.Keywords {
			if wanted[k] {
				score[ad.ID]++
			}
		}
		return len(ad.Keywords) > 0 && score[ad.ID] == 0
	})
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	slices.SortStableFunc(out, func(x, y Ad) int {
		return cmp.Or(cmp.Compare(y.Cost, x.Cost), cmp.Compare(score[y.ID], score[x.ID]))
	})
	return out
}

// running returns the campaigns of the advertisements that may be served now.
func (a *Ads) running(ctx context.Context, ads []Ad, now time.Time) (map[bson.ObjectID]*Campaign, error) {
	if len(ads) == 0 {
		return nil, nil
	}
	var ids []bson.ObjectID
	for _, ad := range ads {
		if !slices.Contains(ids, ad.Campaign) {
			ids = append(ids, ad.Campaign)
		}
	}
	cur, err := a.campaigns.Find(ctx, bson.D{
		{"_id", bson.D{{"$in", ids}}},
		{"stopped", false},
		{"from", bson.D{{"$lte", now}}},
		{"to", bson.D{{"$gt", now}}},
	}, options.Find().SetProjection(bson.D{{"budget", 1}, {"from", 1}, {"to", 1}, {"even", 1}}))
	if err != nil {
		return nil, err
	}
	var found []*Campaign
	if err := cur.All(ctx, &found); err != nil {
		return nil, err
	}
	out := make(map[bson.ObjectID]*Campaign, len(found))
	for _, c := range found {
		out[c.ID] = c
	}
	return out, nil
}

// try records that the user sees an advertisement, and makes the campaign pay. It returns false if
// the user has seen the advertisement often enough, or if the campaign has no money.
func (a *Ads) try(ctx context.Context, i *Impression, c *Campaign, user string, now time.Time) (bool, error) {
	capped := user != "" && i.Ad.Cap > 0
	if capped {
		seen, err := a.see(ctx, i, user, now)
		if err != nil || !seen {
			return false, err
		}
	}
	paid, err := a.pay(ctx, &i.Ad, c, now)
	if err != nil || paid || !capped {
		return paid, err
	}
	return false, a.unsee(ctx, i, user)
}

// see adds an impression to the last Cap impressions of an advertisement in the user's profile. It
// returns false if the oldest of them is still within the window.
func (a *Ads) see(ctx context.Context, i *Impression, user string, now time.Time) (bool, error) {
	field := seenField(i)
	may := append(byID(user), bson.E{"$or", bson.A{
		bson.D{{fmt.Sprintf("%s.%d", field, i.Ad.Cap-1), bson.D{{"$exists", false}}}},
		bson.D{{field + ".0.at", bson.D{{"$lte", now.Add(-i.Ad.Window)}}}},
	}})
	entry := bson.D{{"id", i.ID}, {"at", now}}
	note := bson.D{
		{"$push", bson.D{{field, bson.D{{"$each", bson.A{entry}}, {"$slice", -i.Ad.Cap}}}}},
		{"$set", bson.D{{"at", now}}},
	}
	for range 2 { // the second attempt is for a profile that was created at the same moment
		_, err := a.profiles.UpdateOne(ctx, may, note, options.UpdateOne().SetUpsert(true))
		if err == nil {
			return true, nil
		}
		if !mongo.IsDuplicateKeyError(err) {
			return false, fmt.Errorf("note what %s sees: %w", user, err)
		}
	}
	return false, nil
}

func seenField(i *Impression) string { return "seen." + i.Ad.ID.Hex() }

// unsee removes the impression that see has added. The impression that see dropped was older than
// the window, so it need not come back.
func (a *Ads) unsee(ctx context.Context, i *Impression, user string) error {
	_, err := a.profiles.UpdateOne(ctx, byID(user),
		bson.D{{"$pull", bson.D{{seenField(i), bson.D{{"id", i.ID}}}}}})
	if err != nil {
		return fmt.Errorf("take back what %s saw: %w", user, err)
	}
	return nil
}

// pay makes a campaign pay for an impression. It returns false if the campaign has no money left or
// is stopped.
func (a *Ads) pay(ctx context.Context, ad *Ad, c *Campaign, now time.Time) (bool, error) {
	served := append(byID(c.ID), bson.E{"stopped", false})
	if limit := c.allowed(now); limit < math.MaxInt64 {
		served = append(served, bson.E{"spent", bson.D{{"$lte", limit - ad.Cost}}})
	}
	var count bson.D
	for _, prefix := range []string{"", "ads." + ad.ID.Hex() + ".", "days." + now.Format("20060102") + "."} {
		count = append(count, bson.E{prefix + "spent", ad.Cost}, bson.E{prefix + "impressions", int64(1)})
	}
	res, err := a.campaigns.UpdateOne(ctx, served, bson.D{{"$inc", count}})
	if err != nil {
		return false, fmt.Errorf("pay for %s: %w", ad.ID.Hex(), err)
	}
	return res.MatchedCount > 0, nil
}

// allowed returns the largest amount that may be spent until now.
func (c *Campaign) allowed(now time.Time) int64 {
	switch {
	case c.Budget == 0:
		return math.MaxInt64
	case !c.Even:
		return c.Budget
	}
	part := float64(now.Sub(c.From)) / float64(c.To.Sub(c.From))
	return int64(float64(c.Budget) * min(1, max(0, part)))
}

// Click records a click on an impression. Repeating it has no effect.
func (a *Ads) Click(ctx context.Context, i Impression, user string) error {
	if err := a.ready(ctx); err != nil {
		return err
	}
	_, err := a.clicks.InsertOne(ctx, bson.D{
		{"_id", i.ID}, {"campaign", i.Ad.Campaign}, {"ad", i.Ad.ID}, {"user", user}, {"at", a.env.Now()},
	})
	if err != nil && !mongo.IsDuplicateKeyError(err) {
		return fmt.Errorf("ads: click on %s: %w", i.Ad.ID.Hex(), err)
	}
	return nil
}

// Clicks returns the number of clicks on each advertisement of a campaign.
func (a *Ads) Clicks(ctx context.Context, campaign bson.ObjectID) (map[bson.ObjectID]int64, error) {
	cur, err := a.clicks.Aggregate(ctx, mongo.Pipeline{
		{{"$match", bson.D{{"campaign", campaign}}}},
		{{"$group", bson.D{{"_id", "$ad"}, {"n", bson.D{{"$sum", int64(1)}}}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("ads: clicks: %w", err)
	}
	var rows []struct {
		Ad bson.ObjectID `bson:"_id"`
		N  int64         `bson:"n"`
	}
	if err := cur.All(ctx, &rows); err != nil {
		return nil, fmt.Errorf("ads: clicks: %w", err)
	}
	out := make(map[bson.ObjectID]int64, len(rows))
	for _, row := range rows {
		out[row.Ad] = row.N
	}
	return out, nil
}

// Repair removes the advertisements of campaigns that are stopped, over or unknown from their
// zones. It returns the number of changed zones.
func (a *Ads) Repair(ctx context.Context) (int, error) {
	var ids []bson.ObjectID
	if err := a.zones.Distinct(ctx, "ads.campaign",
		bson.D{{"ads.campaign", bson.D{{"$exists", true}}}}).Decode(&ids); err != nil {
		return 0, fmt.Errorf("ads: repair: %w", err)
	}
	var live []bson.ObjectID
	err := a.campaigns.Distinct(ctx, "_id", bson.D{
		{"_id", bson.D{{"$in", ids}}}, {"stopped", false}, {"to", bson.D{{"$gt", a.env.Now()}}},
	}).Decode(&live)
	if err != nil {
		return 0, fmt.Errorf("ads: repair: %w", err)
	}
	over := slices.DeleteFunc(ids, func(id bson.ObjectID) bool { return slices.Contains(live, id) })
	if len(over) == 0 {
		return 0, nil
	}
	return a.withdraw(ctx, over)
}

// Run calls Repair in a loop until ctx ends, and returns the error of ctx.
func (a *Ads) Run(ctx context.Context) error {
	for {
		n, err := a.Repair(ctx)
		if err != nil && ctx.Err() == nil {
			a.env.Logger.Warn("the sweep of campaigns failed", "error", err)
		}
		if n > 0 {
			a.env.Logger.Info("campaigns that are over were taken out of zones", "zones", n)
		}
		if err := a.env.Clock.Sleep(ctx, a.cfg.Sweep); err != nil {
			return err
		}
	}
}
