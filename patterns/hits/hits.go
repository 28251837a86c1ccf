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

// Errors of the package.
var (
	// ErrHit is returned for a hit that cannot be counted: its site is empty or contains a slash,
	// its page does not begin with a slash, or its number is negative.
	ErrHit = errors.New("hits: a site may not be empty or contain a slash, a page begins with one, and a number is not negative")
	// ErrRange is returned for a chart of more than MaxPoints points.
	ErrRange = errors.New("hits: the chart would have too many points")
	// ErrFull is returned by a Writer that holds MaxPending hits. The hit is not counted.
	ErrFull = errors.New("hits: too many hits wait to be written")
)

// Form is the arrangement of a day's minutes in its document. All documents of a collection must
// have the same form.
type Form int

// These are the values of Config.Form.
const (
	// Hierarchical stores the minutes of each hour in a subdocument. To find the last minute of a
	// day, the server passes 23 + 59 names instead of 1439.
	Hierarchical Form = iota
	// Flat stores all minutes of the day in one subdocument.
	Flat
)

// Config configures Counters. The zero value works.
type Config struct {
	patterns.Env
	// Daily and Monthly are the names of the collections; "hits.daily" and "hits.monthly" if empty.
	Daily, Monthly string
	// Form is the arrangement of the minutes in the documents of days. All Counters of a collection
	// must use the same form. The server does not check the form: it refuses only the increments
	// whose path meets a value of another type.
	Form Form
	// Location is the time zone in which days begin; UTC if nil.
	Location *time.Location
	// WithoutMonths turns the documents of months off, and saves their cost. Charts of days then
	// read the documents of days.
	WithoutMonths bool
	// Keep is the time after the start of a day at which its document is removed; documents of
	// months stay. If zero, documents of days are kept.
	Keep time.Duration
	// Prefill is the probability with which a hit creates the page's document of the next day,
	// filled with zeros. This avoids that all pages create their documents at midnight. A good
	// value is one divided by the number of hits of a page in a day. Zero turns it off.
	Prefill float64
}

// Counters counts hits of pages. It is safe for concurrent use.
type Counters struct {
	env            patterns.Env
	daily, monthly *mongo.Collection
	cfg            Config
	prepared       patterns.Prepared
}

// Hit says that a page was hit N times; once if N is zero.
type Hit struct {
	Site, Page string
	At         time.Time
	N          int64
}

// New returns counters that are stored in db.
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

// page identifies a page of a site.
type page struct{ site, name string }

// dayKey identifies the document of a page and a day.
type dayKey struct {
	page
	start int64 // start of the day, in milliseconds since 1970
}

// batch holds numbers of hits by day and by the minute of the day.
type batch map[dayKey]map[int]int64

// note adds a hit to a batch and returns its number.
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

// dayOf returns the start of the day that contains t. Minutes are counted from there. So a day on
// which the clocks change has 1380 or 1500 minutes, each of which is one minute long.
func (c *Counters) dayOf(t time.Time) time.Time {
	y, m, d := t.In(c.cfg.Location).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, c.cfg.Location)
}

func (c *Counters) monthOf(t time.Time) time.Time {
	y, m, _ := t.In(c.cfg.Location).Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, c.cfg.Location)
}

// nextDay returns the end of the day that begins at start.
func (c *Counters) nextDay(start time.Time) time.Time {
	y, m, d := start.In(c.cfg.Location).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, c.cfg.Location)
}

// The layouts of the dates in _ids.
const (
	dayLayout   = "20060102"
	monthLayout = "200601"
)

// document returns the filter for a document. It contains the shard key, and an upsert with it
// creates the document.
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

// increments returns the increments of the document of a day for the hits in its minutes.
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

// Add counts hits. It updates the document of each page and day once, and then the months of these
// pages. After an error some hits may be counted and others not. A Writer repeats them without
// counting any hit twice.
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

// Preallocate creates the document of a page's day, filled with zeros, if it does not exist. It
// does not change existing counters.
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
	if err != nil && !mongo.IsDuplicateKeyError(err) { // another process has just created the document
		return fmt.Errorf("hits: make a document of %s%s: %w", site, name, err)
	}
	return nil
}

// prefill creates tomorrow's documents for some of the pages that were hit today. Without it, the
// first hit of a day creates the document.
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
