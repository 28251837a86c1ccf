package ads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of advertisements.
var (
	ErrNoAd        = errors.New("ads: nothing to show here")
	ErrNotFound    = errors.New("ads: there is no such campaign")
	ErrBadCampaign = errors.New("ads: a campaign ends after it begins, lasts at most MaxDays, and its budget is not negative")
	ErrBadAd       = errors.New("ads: an advertisement costs something and has a cap of 0 to MaxCap in a window")
	ErrPlaced      = errors.New("ads: the advertisement is in that zone already")
	ErrFull        = errors.New("ads: the zone has as many advertisements as fit")
)

// Limits of documents.
const (
	// MaxDays is how many days a campaign may last; each has its counters in the campaign's
	// document.
	MaxDays = 1000
	// MaxCap is the greatest number of times that a user may see an advertisement in a window; they
	// are in the user's document.
	MaxCap = 100
	// MaxAds is how many advertisements a zone may have.
	MaxAds = 1000
)

// Config configures Ads. The zero value works.
type Config struct {
	patterns.Env
	// Prefix begins the names of the collections "campaigns", "zones", "profiles" and "clicks".
	Prefix string
	// Remember is how long the profile of a user is kept who sees no ads, 90 days if zero. It is
	// longer than every window.
	Remember time.Duration
	// Clicks is how long clicks are kept, a year if zero.
	Clicks time.Duration
	// Sweep is how often Run looks for campaigns that have ended, a minute if zero.
	Sweep time.Duration
}

// Campaign is what an advertiser pays for. Amounts are whole numbers of the smallest unit, for
// instance millionths of a dollar.
type Campaign struct {
	ID   bson.ObjectID `bson:"_id"`
	Name string        `bson:"name"`
	// Budget is what may be spent; zero is no limit.
	Budget int64 `bson:"budget"`
	// It is served from From on and before To.
	From time.Time `bson:"from"`
	To   time.Time `bson:"to"`
	// Even spreads the budget: at any time no more is spent than the part of the campaign's time
	// that has passed. Otherwise it is spent as fast as there are people to see it.
	Even bool `bson:"even"`
	// Stopped campaigns are not served.
	Stopped bool `bson:"stopped"`
	// Spent and Impressions are what was served, in all, by advertisement and by day ("20260501").
	Spent       int64              `bson:"spent"`
	Impressions int64              `bson:"impressions"`
	Ads         map[string]Counter `bson:"ads"`
	Days        map[string]Counter `bson:"days"`
}

// Counter counts what was served.
type Counter struct {
	Impressions int64 `bson:"impressions"`
	Spent       int64 `bson:"spent"`
}

// Ad is an advertisement as it stands in a zone.
type Ad struct {
	ID       bson.ObjectID `bson:"_id"`
	Campaign bson.ObjectID `bson:"campaign"`
	// Cost is what one impression costs. It is the order of profitability too: a thousandth of the
	// eCPM.
	Cost int64 `bson:"cost"`
	// Keywords are those of requests that it is shown for; one without is shown for all.
	Keywords []string `bson:"keywords,omitempty"`
	// A user sees it at most Cap times in any Window. A cap of zero is none.
	Cap    int           `bson:"cap,omitempty"`
	Window time.Duration `bson:"window,omitempty"`
	// Content is what is shown.
	Content string `bson:"content"`
}

// zone is a place of a site, with its advertisements, the most profitable first.
type zone struct {
	ID  Place `bson:"_id"`
	Ads []Ad  `bson:"ads"`
}

// Place names a zone of a site.
type Place struct {
	Site string `bson:"site"`
	Zone string `bson:"zone"`
}

// Ads serves advertisements. It is safe for concurrent use.
type Ads struct {
	env       patterns.Env
	cfg       Config
	campaigns *mongo.Collection
	zones     *mongo.Collection
	profiles  *mongo.Collection
	clicks    *mongo.Collection
	prepared  patterns.Prepared
}

// New returns the advertisements of a database.
func New(db *mongo.Database, cfg Config) (*Ads, error) {
	if least := min(cfg.Remember, cfg.Clicks, cfg.Sweep); least < 0 {
		return nil, fmt.Errorf("ads: a time of %v", least)
	}
	cfg.Remember = cmp.Or(cfg.Remember, 90*24*time.Hour)
	cfg.Clicks = cmp.Or(cfg.Clicks, 365*24*time.Hour)
	cfg.Sweep = cmp.Or(cfg.Sweep, time.Minute)
	cfg.Env = cfg.WithDefaults()
	return &Ads{
		env: cfg.Env, cfg: cfg,
		campaigns: db.Collection(cfg.Prefix + "campaigns"),
		zones:     db.Collection(cfg.Prefix + "zones"),
		profiles:  db.Collection(cfg.Prefix + "profiles"),
		clicks:    db.Collection(cfg.Prefix + "clicks"),
	}, nil
}

// Book adds a campaign. Its ID may be given, so that booking may be repeated; what was spent is
// not.
func (a *Ads) Book(ctx context.Context, c Campaign) (bson.ObjectID, error) {
	if c.Budget < 0 || !c.From.Before(c.To) || c.To.Sub(c.From) > MaxDays*24*time.Hour {
		return bson.ObjectID{}, ErrBadCampaign
	}
	if c.ID.IsZero() {
		c.ID = bson.NewObjectID()
	}
	c.Spent, c.Impressions, c.Ads, c.Days, c.Stopped = 0, 0, map[string]Counter{}, map[string]Counter{}, false
	if _, err := a.campaigns.InsertOne(ctx, c); err != nil {
		return bson.ObjectID{}, fmt.Errorf("ads: book %q: %w", c.Name, err)
	}
	return c.ID, nil
}

// Campaign returns a campaign with its counters.
func (a *Ads) Campaign(ctx context.Context, id bson.ObjectID) (Campaign, error) {
	var c Campaign
	err := a.campaigns.FindOne(ctx, byID(id)).Decode(&c)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return c, ErrNotFound
	}
	if err != nil {
		return c, fmt.Errorf("ads: campaign %s: %w", id.Hex(), err)
	}
	return c, nil
}

// Extend gives a campaign more budget, or less: what was spent stays spent.
func (a *Ads) Extend(ctx context.Context, id bson.ObjectID, by int64) error {
	enough := append(byID(id), bson.E{"budget", bson.D{{"$gt", max(0, -by)}}})
	return a.changeCampaign(ctx, id, enough, bson.D{{"$inc", bson.D{{"budget", by}}}})
}

// Stop ends a campaign: nothing of it is served once Stop has returned, nor when it was broken off
// behind its first write. Its advertisements are taken out of all zones.
func (a *Ads) Stop(ctx context.Context, id bson.ObjectID) error {
	if err := a.changeCampaign(ctx, id, byID(id), bson.D{{"$set", bson.D{{"stopped", true}}}}); err != nil {
		return err
	}
	_, err := a.withdraw(ctx, []bson.ObjectID{id})
	return err
}

func (a *Ads) changeCampaign(ctx context.Context, id bson.ObjectID, when, change bson.D) error {
	res, err := a.campaigns.UpdateOne(ctx, when, change)
	if err != nil {
		return fmt.Errorf("ads: change the campaign %s: %w", id.Hex(), err)
	}
	if res.MatchedCount > 0 {
		return nil
	}
	if _, err := a.Campaign(ctx, id); err != nil {
		return err
	}
	return ErrBadCampaign
}

// withdraw takes the advertisements of campaigns out of all zones, and returns of how many.
func (a *Ads) withdraw(ctx context.Context, campaigns []bson.ObjectID) (int, error) {
	in := bson.D{{"$in", campaigns}}
	res, err := a.zones.UpdateMany(ctx, bson.D{{"ads.campaign", in}},
		bson.D{{"$pull", bson.D{{"ads", bson.D{{"campaign", in}}}}}})
	if err != nil {
		return 0, fmt.Errorf("ads: withdraw: %w", err)
	}
	return int(res.ModifiedCount), nil
}

// Put puts an advertisement into a zone.
func (a *Ads) Put(ctx context.Context, at Place, ad Ad) error {
	if err := a.ready(ctx); err != nil {
		return err
	}
	if ad.Cost <= 0 || ad.Cap < 0 || ad.Cap > MaxCap || (ad.Cap > 0) != (ad.Window > 0) ||
		ad.Window > a.cfg.Remember || ad.ID.IsZero() {
		return ErrBadAd
	}
	for i, k := range ad.Keywords {
		ad.Keywords[i] = strings.ToLower(k)
	}
	if _, err := a.Campaign(ctx, ad.Campaign); err != nil {
		return err
	}
	room := bson.D{
		{"_id", at},
		{"ads._id", bson.D{{"$ne", ad.ID}}},
		{fmt.Sprintf("ads.%d", MaxAds-1), bson.D{{"$exists", false}}},
	}
	push := bson.D{{"$push", bson.D{{"ads", bson.D{
		{"$each", bson.A{ad}}, {"$sort", bson.D{{"cost", -1}}},
	}}}}}
	for {
		_, err := a.zones.UpdateOne(ctx, room, push, options.UpdateOne().SetUpsert(true))
		if mongo.IsDuplicateKeyError(err) {
			var again bool
			if again, err = a.refused(ctx, at, ad.ID); again {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("ads: put %s into %v: %w", ad.ID.Hex(), at, err)
		}
		return nil
	}
}

// refused tells why a zone that exists did not take an advertisement, or to try again, as it came
// to be at the same moment.
func (a *Ads) refused(ctx context.Context, at Place, ad bson.ObjectID) (again bool, err error) {
	z, err := a.zone(ctx, at)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(z.Ads, func(one Ad) bool { return one.ID == ad }) {
		return false, ErrPlaced
	}
	if len(z.Ads) >= MaxAds {
		return false, ErrFull
	}
	return true, nil
}

// zone returns a zone, an empty one if there is none.
func (a *Ads) zone(ctx context.Context, at Place) (*zone, error) {
	z := &zone{ID: at}
	err := a.zones.FindOne(ctx, byID(at)).Decode(z)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = nil
	}
	return z, err
}

// Remove takes an advertisement out of a zone. That it is not there is no error.
func (a *Ads) Remove(ctx context.Context, at Place, ad bson.ObjectID) error {
	_, err := a.zones.UpdateOne(ctx, bson.D{{"_id", at}},
		bson.D{{"$pull", bson.D{{"ads", byID(ad)}}}})
	if err != nil {
		return fmt.Errorf("ads: remove %s from %v: %w", ad.Hex(), at, err)
	}
	return nil
}

func byID(id any) bson.D { return bson.D{{"_id", id}} }

// Indexes returns what the advertisements need.
func (a *Ads) Indexes() []patterns.Index {
	after := func(d time.Duration) *options.IndexOptionsBuilder {
		return options.Index().SetExpireAfterSeconds(int32(min(d/time.Second, 1<<31-1)))
	}
	return []patterns.Index{
		{Collection: a.zones.Name(), Model: mongo.IndexModel{Keys: bson.D{{"ads.campaign", 1}}}},
		{
			Collection: a.profiles.Name(),
			Model:      mongo.IndexModel{Keys: bson.D{{"at", 1}}, Options: after(a.cfg.Remember)},
		},
		{Collection: a.clicks.Name(), Model: mongo.IndexModel{Keys: bson.D{{"campaign", 1}, {"ad", 1}}}},
		{Collection: a.clicks.Name(), Model: mongo.IndexModel{Keys: bson.D{{"at", 1}}, Options: after(a.cfg.Clicks)}},
	}
}

// EnsureIndexes creates the indexes.
func (a *Ads) EnsureIndexes(ctx context.Context) error {
	return a.prepared.Ensure(ctx, a.zones.Database(), a.Indexes())
}

// ready fails before the first use without EnsureIndexes: profiles and clicks would never go.
func (a *Ads) ready(ctx context.Context) error {
	return a.prepared.Check(ctx, a.zones.Database(), a.env.Logger, a.Indexes)
}

// ShardKeys returns how the documents are distributed over shards.
func (a *Ads) ShardKeys() []patterns.ShardKey {
	hashed := bson.D{{"_id", "hashed"}}
	return []patterns.ShardKey{
		{Collection: a.zones.Name(), Key: hashed},
		{Collection: a.campaigns.Name(), Key: hashed},
		{Collection: a.profiles.Name(), Key: hashed},
		{Collection: a.clicks.Name(), Key: hashed},
	}
}

// Shard distributes the documents over the shards of a cluster.
func (a *Ads) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, a.zones.Database(), a.ShardKeys())
}
