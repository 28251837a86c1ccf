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

// These limits keep documents small.
const (
	// MaxDays is the largest number of days of a campaign. The campaign's document has counters for
	// each day.
	MaxDays = 1000
	// MaxCap is the largest number of times that a user may see an advertisement in a window. The
	// user's document stores these times.
	MaxCap = 100
	// MaxAds is the largest number of advertisements in a zone.
	MaxAds = 1000
)

// Config configures Ads. The zero value works.
type Config struct {
	patterns.Env
	// Prefix is a prefix of the names of the collections "campaigns", "zones", "profiles" and
	// "clicks".
	Prefix string
	// Remember is the time after which the profile of a user who sees no advertisements is deleted;
	// 90 days if zero. No Ad.Window may be longer.
	Remember time.Duration
	// Clicks is the time for which clicks are kept; a year if zero.
	Clicks time.Duration
	// Sweep is the interval of Run; a minute if zero.
	Sweep time.Duration
}

// Campaign is a campaign of an advertiser, with its budget and its counters. Amounts are whole
// numbers of the smallest unit, for example millionths of a dollar.
type Campaign struct {
	ID   bson.ObjectID `bson:"_id"`
	Name string        `bson:"name"`
	// Budget is the largest amount that the campaign may spend. Zero means no limit.
	Budget int64 `bson:"budget"`
	// From and To limit the time of the campaign: From is inclusive, To is exclusive.
	From time.Time `bson:"from"`
	To   time.Time `bson:"to"`
	// Even spreads the budget over the time of the campaign: the spent part of the budget never
	// exceeds the passed part of the time. Otherwise the budget is spent as fast as requests come.
	Even bool `bson:"even"`
	// Stopped campaigns are not served.
	Stopped bool `bson:"stopped"`
	// Spent and Impressions count everything that was served. Ads has the same counters by
	// advertisement, Days by day ("20260501").
	Spent       int64              `bson:"spent"`
	Impressions int64              `bson:"impressions"`
	Ads         map[string]Counter `bson:"ads"`
	Days        map[string]Counter `bson:"days"`
}

// Counter counts impressions and their costs.
type Counter struct {
	Impressions int64 `bson:"impressions"`
	Spent       int64 `bson:"spent"`
}

// Ad is an advertisement in a zone.
type Ad struct {
	ID       bson.ObjectID `bson:"_id"`
	Campaign bson.ObjectID `bson:"campaign"`
	// Cost is the price of one impression. Advertisements are served in the order of this price. It
	// is a thousandth of the eCPM.
	Cost int64 `bson:"cost"`
	// Keywords limits the advertisement to requests with at least one of these keywords. An
	// advertisement without keywords matches all requests.
	Keywords []string `bson:"keywords,omitempty"`
	// Cap is the largest number of times that a user sees the advertisement in any span of the
	// length Window. Zero means no limit.
	Cap    int           `bson:"cap,omitempty"`
	Window time.Duration `bson:"window,omitempty"`
	// Content is the text to show.
	Content string `bson:"content"`
}

// zone is a place with its advertisements, the most expensive first.
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

// New returns an Ads that stores its documents in db.
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

// Book stores a new campaign with zero counters and returns its ID. If the caller sets the ID, a
// repeated Book fails with a duplicate key error instead of booking twice.
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

// Campaign returns a campaign with its counters, or ErrNotFound.
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

// Extend adds to the budget of a campaign, or reduces it if by is negative. It does not change the
// spent amount.
func (a *Ads) Extend(ctx context.Context, id bson.ObjectID, by int64) error {
	enough := append(byID(id), bson.E{"budget", bson.D{{"$gt", max(0, -by)}}})
	return a.changeCampaign(ctx, id, enough, bson.D{{"$inc", bson.D{{"budget", by}}}})
}

// Stop ends a campaign. After Stop returns, or after its first write if it was interrupted, no
// advertisement of the campaign is served. Stop also removes the advertisements from all zones.
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

// withdraw removes the advertisements of campaigns from all zones, and returns the number of
// changed zones.
func (a *Ads) withdraw(ctx context.Context, campaigns []bson.ObjectID) (int, error) {
	in := bson.D{{"$in", campaigns}}
	res, err := a.zones.UpdateMany(ctx, bson.D{{"ads.campaign", in}},
		bson.D{{"$pull", bson.D{{"ads", bson.D{{"campaign", in}}}}}})
	if err != nil {
		return 0, fmt.Errorf("ads: withdraw: %w", err)
	}
	return int(res.ModifiedCount), nil
}

// Put adds an advertisement to a zone. It returns ErrPlaced if the advertisement is in the zone
// already, and ErrFull if the zone has MaxAds advertisements.
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

// refused returns the reason why an existing zone did not accept an advertisement. The result again
// is true if the zone was created at the same moment: then the caller should try again.
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

// zone returns a zone. If it does not exist, it returns an empty zone.
func (a *Ads) zone(ctx context.Context, at Place) (*zone, error) {
	z := &zone{ID: at}
	err := a.zones.FindOne(ctx, byID(at)).Decode(z)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = nil
	}
	return z, err
}

// Remove removes an advertisement from a zone. It is not an error if the advertisement is not
// there.
func (a *Ads) Remove(ctx context.Context, at Place, ad bson.ObjectID) error {
	_, err := a.zones.UpdateOne(ctx, bson.D{{"_id", at}},
		bson.D{{"$pull", bson.D{{"ads", byID(ad)}}}})
	if err != nil {
		return fmt.Errorf("ads: remove %s from %v: %w", ad.Hex(), at, err)
	}
	return nil
}

func byID(id any) bson.D { return bson.D{{"_id", id}} }

// Indexes returns the indexes that the package needs.
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

// ready fails if the indexes were not created before the first use: without them, profiles and
// clicks would never expire.
func (a *Ads) ready(ctx context.Context) error {
	return a.prepared.Check(ctx, a.zones.Database(), a.env.Logger, a.Indexes)
}

// ShardKeys returns the shard keys of the collections.
func (a *Ads) ShardKeys() []patterns.ShardKey {
	hashed := bson.D{{"_id", "hashed"}}
	return []patterns.ShardKey{
		{Collection: a.zones.Name(), Key: hashed},
		{Collection: a.campaigns.Name(), Key: hashed},
		{Collection: a.profiles.Name(), Key: hashed},
		{Collection: a.clicks.Name(), Key: hashed},
	}
}

// Shard shards the collections by the keys of ShardKeys.
func (a *Ads) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, a.zones.Database(), a.ShardKeys())
}
