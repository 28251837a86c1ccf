package ads

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleBudget   = "no campaign has spent more than its budget"
	RuleCounters = "what a campaign has spent is the sum by advertisement, and by day"
	RuleOrder    = "the advertisements of a zone are in the order of their profitability"
	RuleOnce     = "an advertisement is in a zone once"
	RuleCampaign = "the advertisements of a zone are of campaigns that exist and are not stopped"
	RuleCap      = "no user has seen an advertisement more often than its cap in a window"
)

// Check reads all campaigns, zones and profiles and lists the violations of the rules. It also
// lists campaigns whose budget was reduced below the amount that they have already spent.
func (a *Ads) Check(ctx context.Context) ([]patterns.Violation, error) {
	var out []patterns.Violation
	violate := func(rule string, coll *mongo.Collection, id any, format string, args ...any) {
		out = append(out, patterns.Violation{
			Rule: rule, Collection: coll.Name(), ID: id,
			Detail: fmt.Sprintf(format, args...),
		})
	}
	campaigns := map[bson.ObjectID]bool{}
	err := patterns.EachOf(ctx, a.campaigns, func(c *Campaign) {
		campaigns[c.ID] = !c.Stopped
		if c.Budget > 0 && c.Spent > c.Budget {
			violate(RuleBudget, a.campaigns, c.ID, "%d of %d", c.Spent, c.Budget)
		}
		whole := Counter{c.Impressions, c.Spent}
		if byAd, byDay := sum(c.Ads), sum(c.Days); byAd != whole || byDay != whole {
			violate(RuleCounters, a.campaigns, c.ID, "%+v; by advertisement %+v, by day %+v", whole, byAd, byDay)
		}
	})
	if err != nil {
		return nil, err
	}
	ads := map[string]Ad{}
	err = patterns.EachOf(ctx, a.zones, func(z *zone) {
		if !slices.IsSortedFunc(z.Ads, func(x, y Ad) int { return cmp.Compare(y.Cost, x.Cost) }) {
			violate(RuleOrder, a.zones, z.ID, "%d advertisements", len(z.Ads))
		}
		seen := map[bson.ObjectID]bool{}
		for _, ad := range z.Ads {
			if seen[ad.ID] {
				violate(RuleOnce, a.zones, z.ID, "%s", ad.ID.Hex())
			}
			seen[ad.ID] = true
			if !campaigns[ad.Campaign] {
				violate(RuleCampaign, a.zones, z.ID, "%s of the campaign %s", ad.ID.Hex(), ad.Campaign.Hex())
			}
			ads[ad.ID.Hex()] = ad
		}
	})
	if err != nil {
		return nil, err
	}
	return out, patterns.EachOf(ctx, a.profiles, func(p *profile) {
		for id, times := range p.Seen {
			// A profile should store at most Cap times. More times are a violation if they are all
			// within one window.
			if ad, known := ads[id]; known && tooOften(times, ad.Cap, ad.Window) {
				violate(RuleCap, a.profiles, p.ID, "%s, %d times in %v", id, len(times), ad.Window)
			}
		}
	})
}

// profile stores when a user has seen each advertisement, the oldest time first.
type profile struct {
	ID   string            `bson:"_id"`
	Seen map[string][]seen `bson:"seen"`
}

type seen struct {
	At time.Time `bson:"at"`
}

// tooOften reports whether more than limit of the times are within one window.
func tooOften(times []seen, limit int, window time.Duration) bool {
	for i := limit; limit > 0 && i < len(times); i++ {
		if times[i].At.Sub(times[i-limit].At) < window {
			return true
		}
	}
	return false
}

func sum(counters map[string]Counter) (total Counter) {
	for _, c := range counters {
		total.Impressions += c.Impressions
		total.Spent += c.Spent
	}
	return total
}
