package hits

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of counters.
var (
	// ErrHit is returned for a hit that cannot be counted: a site that is empty or has a slash, a
	// page that does not begin with a slash, a negative number.
	ErrHit = errors.New("hits: a site may not be empty or contain a slash, a page begins with one, and a number is not negative")
	// ErrRange is returned for a chart of more than MaxPoints points.
	ErrRange = errors.New("hits: the chart would have too many points")
	// ErrFull is returned by a Writer that holds as many hits as it may; the hit is not counted.
	ErrFull = errors.New("hits: too many hits wait to be written")
)

// Form is how a day's minutes are arranged in its document. All documents of a collection have the
// same.
type Form int

// Forms.
const (
	// Hierarchical has the minutes of each hour in a document of their own, which finds the last
	// minute of a day by passing 23 + 59 names instead of 1439.
	Hierarchical Form = iota
	// Flat has all minutes of the day in one.
	Flat
)

// Config configures Counters. The zero value works.
type Config struct {
	patterns.Env
	// Daily and Monthly are collections: "hits.daily" and "hits.monthly" if empty.
	Daily, Monthly string
	// Form is that of the collection: hits in another one are refused by the server.
	Form Form
	// Location is where days begin; UTC if nil.
	Location *time.Location
	// WithoutMonths saves the documents of the months and what they cost; charts of days then read
	// the days' documents.
	WithoutMonths bool
	// Keep removes the documents of days this long after the day's beginning; months stay. Zero
	// keeps them.
	Keep time.Duration
	// Prefill is the probability with which a hit makes the page's document of the next day, with
	// all its zeros, so that not all pages make theirs at midnight: one over the number of hits
	// that a page has in a day. Zero never does.
	Prefill float64
}

// Counters count hits of pages. It is safe for concurrent use.
type Counters struct {
	env            patterns.Env
	daily, monthly *mongo.Collection
	cfg            Config
	prepared       patterns.Prepared
}

// Hit is a page that was hit N times; once if N is zero.
type Hit struct {
	Site, Page string
	At         time.Time
	N          int64
}

// New returns the counters of a database.
func New(db *mongo.Database, cfg Config) (*Counters, error) {
	if cfg.Keep < 0 || cfg.Prefill < 0 || cfg.Prefill > 1 || cfg.Form < Hierarchical || cfg.Form > Flat {
		return nil, fmt.Errorf("hits: keep %v, prefill %v, form %d", cfg.Keep, cfg.Prefill, cfg.Form)
	}
	if cfg.Daily == "" {
		cfg.Daily = "hits.daily"
	}
	if cfg.Monthly == "" {
		cfg.Monthly = "hits.monthly"
	}
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	return &Counters{
		env: cfg.WithDefaults(), daily: db.Collection(cfg.Daily),
		monthly: db.Collection(cfg.Monthly), cfg: cfg,
	}, nil
}

// page is whose day or month a document counts.
type page struct{ site, name string }

// dayKey names a document of a day.
type dayKey struct {
	page
	start int64 // of the day, in milliseconds since 1970
}

// batch is hits by day and by the minute of the day.
type batch map[dayKey]map[int]int64

// note adds a hit and returns its number.
func (c *Counters) note(b batch, h Hit) (int64, error) {
	if h.Site == "" || strings.Contains(h.Site, "/") || !strings.HasPrefix(h.Page, "/") || h.N < 0 {
		return 0, fmt.Errorf("%w: %q %q %d", ErrHit, h.Site, h.Page, h.N)
	}
	if h.At.IsZero() {
		h.At = c.env.Now()
	}
	n := max(h.N, 1)
	start := c.dayOf(h.At)
	key := dayKey{page: page{h.Site, h.Page}, start: start.UnixMilli()}
	if b[key] == nil {
		b[key] = map[int]int64{}
	}
	b[key][int(h.At.Sub(start)/time.Minute)] += n
	return n, nil
}

// dayOf returns when the day of t began. Minutes are counted from there, so that those of a day on
// which clocks are changed are 1380 or 1500, and each is one minute.
func (c *Counters) dayOf(t time.Time) time.Time {
	y, m, d := t.In(c.cfg.Location).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, c.cfg.Location)
}

func (c *Counters) monthOf(t time.Time) time.Time {
	y, m, _ := t.In(c.cfg.Location).Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, c.cfg.Location)
}

// nextDay returns when the day ends that begins at start.
func (c *Counters) nextDay(start time.Time) time.Time {
	y, m, d := start.In(c.cfg.Location).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, c.cfg.Location)
}

// Layouts of the dates in _ids.
const (
	dayLayout   = "20060102"
	monthLayout = "200601"
)

// document is the filter of a document, which has its shard key too, and makes it where it does not
// exist.
func (c *Counters) document(p page, start time.Time, layout string) bson.D {
	return bson.D{
		{"_id", start.In(c.cfg.Location).Format(layout) + "/" + p.site + p.name},
		{"metadata.date", start},
		{"metadata.site", p.site},
		{"metadata.page", p.name},
	}
}

func (c *Counters) day(key dayKey) bson.D {
	return c.document(key.page, time.UnixMilli(key.start), dayLayout)
}

// increments returns what the minutes of a day add to its document.
func (c *Counters) increments(minutes map[int]int64) bson.D {
	var total int64
	hours := map[int]int64{}
	inc := make(bson.D, 1, 2+2*len(minutes))
	for minute, n := range minutes {
		total += n
		hours[minute/60] += n
		path := "minute." + strconv.Itoa(minute)
		if c.cfg.Form == Hierarchical {
			path = "minute." + strconv.Itoa(minute/60) + "." + strconv.Itoa(minute)
		}
		inc = append(inc, bson.E{path, n})
	}
	for hour, n := range hours {
		inc = append(inc, bson.E{"hourly." + strconv.Itoa(hour), n})
	}
	inc[0] = bson.E{"daily", total}
	return inc
}

// Add counts hits: it updates the document of each page and day once, and then the months of these
// pages. After an error some hits may be counted and some not: a Writer knows which.
func (c *Counters) Add(ctx context.Context, hits ...Hit) error {
	b := batch{}
	for _, h := range hits {
		if _, err := c.note(b, h); err != nil {
			return err
		}
	}
	if len(b) == 0 {
		return nil
	}
	if err := c.ready(ctx); err != nil {
		return err
	}
	var models []mongo.WriteModel
	for key, minutes := range b {
		inc := bson.D{{"$inc", c.increments(minutes)}}
		models = append(models, mongo.NewUpdateOneModel().SetFilter(c.day(key)).SetUpdate(inc).SetUpsert(true))
	}
	if err := patterns.Upsert(ctx, c.daily, models); err != nil {
		return fmt.Errorf("hits: count: %w", err)
	}
	c.prefill(ctx, b)
	return c.raise(ctx, b)
}

// Preallocate makes the document of a page's day, with zeros, if there is none. What is counted
// already stays.
func (c *Counters) Preallocate(ctx context.Context, site, name string, day time.Time) error {
	if _, err := c.note(batch{}, Hit{Site: site, Page: name}); err != nil {
		return err
	}
	if err := c.ready(ctx); err != nil {
		return err
	}
	start := c.dayOf(day)
	minutes := int(c.nextDay(start).Sub(start) / time.Minute)
	hourly, flat, hierarchical := bson.D{}, bson.D{}, bson.D{}
	for minute := range minutes {
		if minute%60 == 0 {
			hourly = append(hourly, bson.E{strconv.Itoa(minute / 60), int64(0)})
			hierarchical = append(hierarchical, bson.E{strconv.Itoa(minute / 60), bson.D{}})
		}
		zero := bson.E{strconv.Itoa(minute), int64(0)}
		flat = append(flat, zero)
		hierarchical[minute/60].Value = append(hierarchical[minute/60].Value.(bson.D), zero)
	}
	if c.cfg.Form == Hierarchical {
		flat = hierarchical
	}
	zeros := bson.D{{"$setOnInsert", bson.D{
		{"daily", int64(0)}, {"hourly", hourly}, {"minute", flat},
	}}}
	_, err := c.daily.UpdateOne(ctx, c.document(page{site, name}, start, dayLayout), zeros,
		options.UpdateOne().SetUpsert(true))
	if err != nil && !mongo.IsDuplicateKeyError(err) { // which another process has just made
		return fmt.Errorf("hits: make a document of %s%s: %w", site, name, err)
	}
	return nil
}

// prefill makes tomorrow's documents of some of the pages that were hit today. They are a
// convenience: without them the first hit of the day makes them.
func (c *Counters) prefill(ctx context.Context, b batch) {
	if c.cfg.Prefill == 0 {
		return
	}
	today := c.dayOf(c.env.Now())
	for key, minutes := range b {
		var total int64
		for _, n := range minutes {
			total += n
		}
		if key.start != today.UnixMilli() || rand.Float64() >= c.cfg.Prefill*float64(total) {
			continue
		}
		if err := c.Preallocate(ctx, key.site, key.name, c.nextDay(today)); err != nil {
			c.env.Logger.Warn("tomorrow's document of a page was not made", "site", key.site,
				"page", key.name, "error", err)
			continue
		}
		c.env.Metrics.Add("hits.prefilled", 1)
	}
}
