package scenarios

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/ads"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func adsScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "ads-serve", Group: "ads", Users: 500, Title: "Choose an advertisement, charge its campaign, and show it",
		Doc: `A reader opens a page with one of the zones. It shows the most profitable advertisement that the reader has not seen too often and whose campaign
has budget. One reader of twenty clicks. It is not a failure if there is nothing left to show. No campaign may spend more than its budget, and its
spending must equal the price of the shown advertisements.

  campaigns: {_id, name, budget, from, to, spent, impressions, ads: {"…": {impressions, spent}}, days: {…}}
  zones:     {_id: {site: "site", zone: "zone-7"}, ads: [{_id, campaign, cost, cap: 3, window, content: "…"}, …]}
  profiles:  {_id: "reader-17", at, seen: {"…": [{id, at}, …]}}
  clicks:    {_id, campaign, ad, user: "reader-17", at}`,
		Params: []scenario.Param{
			whole("numberOfCampaigns", "how many campaigns there are", 50, 1, 1000),
			whole("numberOfZones", "how many zones there are", 50, 1, 10_000),
			whole("adsPerZone", "how many advertisements a zone has", 10, 1, 100),
			whole("numberOfReaders", "how many readers there are", 10_000, 1, 10_000_000),
			whole("budget", "budget of a campaign in cents; each advertisement costs 1 to 100", 1_000_000, 1, 1_000_000_000),
			whole("cap", "how often a reader may see an advertisement in an hour; zero means no limit", 3, 0, ads.MaxCap),
		},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			s := &readers{env: env}
			var err error
			s.ads, err = ads.New(env.DB, ads.Config{Env: env.Patterns})
			return s, err
		},
	}}
}

// readers implements the scenario ads-serve: its users are readers who are shown ads.
type readers struct {
	still
	ads *ads.Ads
	env scenario.Env
}

func zoneOf(i int) ads.Place { return ads.Place{Site: "site", Zone: fmt.Sprintf("zone-%d", i)} }

// Setup implements scenario.Scenario.
func (s *readers) Setup(ctx context.Context) error {
	if err := s.ads.EnsureIndexes(ctx); err != nil {
		return err
	}
	p, random, now := s.env.Params, s.env.Rand(), s.env.Patterns.WithDefaults().Now()
	campaigns := make([]bson.ObjectID, p.Int("numberOfCampaigns"))
	for i := range campaigns {
		var err error
		campaigns[i], err = s.ads.Book(ctx, ads.Campaign{
			Name: fmt.Sprintf("campaign %d", i), Budget: int64(p.Int("budget")), From: now.Add(-time.Hour),
			To: now.Add(90 * 24 * time.Hour),
		})
		if err != nil {
			return err
		}
	}
	for zone := range p.Int("numberOfZones") {
		for i := range p.Int("adsPerZone") {
			ad := ads.Ad{
				ID: bson.NewObjectID(), Campaign: campaigns[random.IntN(len(campaigns))],
				Cost: int64(1 + random.IntN(100)), Cap: p.Int("cap"),
				Content: fmt.Sprintf("advertisement %d", i),
			}
			if ad.Cap > 0 {
				ad.Window = time.Hour
			}
			if err := s.ads.Put(ctx, zoneOf(zone), ad); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run implements scenario.Scenario.
func (s *readers) Run(ctx context.Context, u *scenario.User) error {
	reader := fmt.Sprintf("reader-%d", u.Rand.IntN(s.env.Params.Int("numberOfReaders")))
	var shown *ads.Impression
	err := u.Time("serve", func() (err error) {
		shown, err = s.ads.Serve(ctx,
			ads.Request{Place: zoneOf(u.Rand.IntN(s.env.Params.Int("numberOfZones"))), User: reader})
		return err
	})
	if anyOf(err, ads.ErrNoAd) {
		u.Count("nothing", 1)
		return nil
	}
	if err != nil {
		return err
	}
	u.Count("shown", 1)
	u.Count("spent", shown.Ad.Cost)
	if u.Rand.IntN(20) > 0 {
		return nil
	}
	if err := u.Time("click", func() error { return s.ads.Click(ctx, *shown, reader) }); err != nil {
		return err
	}
	u.Count("clicks", 1)
	return nil
}

// Check implements scenario.Scenario.
func (s *readers) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.ads.Check(ctx)
	if err != nil {
		return nil, err
	}
	var shown, spent int64
	err = patterns.EachOf(ctx, s.env.DB.Collection("campaigns"),
		func(c *ads.Campaign) { shown, spent = shown+c.Impressions, spent+c.Spent })
	if err != nil {
		return nil, err
	}
	clicks, err := countOf(ctx, s.env.DB.Collection("clicks"), bson.D{})
	if err != nil {
		return nil, err
	}
	const dearest = 100
	out = append(out, counted("what was shown is counted", "campaigns", shown, t.Counts["shown"], unsure(t, 1))...)
	out = append(out, counted("what was shown is paid", "campaigns", spent, t.Counts["spent"], unsure(t, dearest))...)
	return append(out, counted("what was clicked on is noted", "clicks", clicks,
		t.Counts["clicks"], unsure(t, 1))...), nil
}
