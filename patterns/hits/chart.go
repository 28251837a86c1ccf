package hits

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Granularity is the distance between the points of a chart.
type Granularity int

// A chart has a point for each minute, hour, day or month.
const (
	Minute Granularity = iota
	Hour
	Day
	Month
)

// MaxPoints is the largest number of points in a chart: about the minutes of two months.
const MaxPoints = 100_000

// Point is the number of hits in the minute, hour, day or month that begins at Start.
type Point struct {
	Start time.Time
	N     int64
}

// Chart returns the hits of a page in [from, to): one point for each minute, hour, day or month
// that begins in that time, with zeros where nothing was counted. Days and months begin in the time
// zone Config.Location. Chart returns ErrRange if there would be more than MaxPoints points.
func (c *Counters) Chart(ctx context.Context, site, name string, g Granularity, from, to time.Time) ([]Point, error) {
	points, err := c.points(g, from, to)
	if err != nil || len(points) == 0 {
		return nil, err
	}
	if g == Day && c.cfg.WithoutMonths {
		g = dayWithoutMonths
	}
	coll, first, fields := c.daily, c.dayOf(from), bson.D{{"metadata.date", 1}, {fieldOf[g], 1}}
	if g == Day || g == Month {
		coll, first = c.monthly, c.monthOf(from)
	}
	when := bson.D{{"$gte", first}, {"$lt", to}}
	filter := bson.D{{"metadata.site", site}, {"metadata.page", name}, {"metadata.date", when}}
	found, err := coll.Find(ctx, filter, options.Find().SetProjection(fields))
	if err != nil {
		return nil, fmt.Errorf("hits: read a chart from %s: %w", coll.Name(), err)
	}
	var docs []bson.Raw
	if err := found.All(ctx, &docs); err != nil {
		return nil, fmt.Errorf("hits: read a chart from %s: %w", coll.Name(), err)
	}
	at := make(map[int64]int, len(points))
	for i, p := range points {
		at[p.Start.UnixMilli()] = i
	}
	for _, doc := range docs {
		date, _ := doc.Lookup("metadata", "date").TimeOK()
		err := each(doc.Lookup(fieldOf[g]), func(slot int, n int64) {
			if i, ok := at[c.startOf(g, date, slot).UnixMilli()]; ok {
				points[i].N += n
			}
		})
		if err != nil {
			return nil, fmt.Errorf("hits: read %v of %s: %w", doc.Lookup("_id"), coll.Name(), err)
		}
	}
	return points, nil
}

// dayWithoutMonths is the granularity Day, read from the documents of days.
const dayWithoutMonths = Month + 1

// fieldOf maps a granularity to the field that holds its counters.
var fieldOf = [...]string{Minute: "minute", Hour: "hourly", Day: "daily", Month: "monthly", dayWithoutMonths: "daily"}

// points returns points with zeros for all starts in [from, to).
func (c *Counters) points(g Granularity, from, to time.Time) (out []Point, err error) {
	if g < Minute || g > Month {
		return nil, fmt.Errorf("hits: granularity %d", g)
	}
	day := c.dayOf(from)
	if g == Month {
		day = c.monthOf(from)
	}
	for day.Before(to) {
		next := c.nextDay(day)
		step := next.Sub(day)
		switch g {
		case Minute:
			step = time.Minute
		case Hour:
			step = time.Hour
		case Month:
			next = day.AddDate(0, 1, 0)
			step = next.Sub(day)
		default: // a day is a single step
		}
		for t := day; t.Before(next) && t.Before(to); t = t.Add(step) {
			if len(out) == MaxPoints {
				return nil, ErrRange
			}
			if !t.Before(from) {
				out = append(out, Point{Start: t})
			}
		}
		day = next
	}
	return out, nil
}

// startOf returns the start of a slot of a document.
func (c *Counters) startOf(g Granularity, date time.Time, slot int) time.Time {
	switch g {
	case Minute:
		return date.Add(time.Duration(slot) * time.Minute)
	case Hour:
		return date.Add(time.Duration(slot) * time.Hour)
	case Day:
		y, m, _ := date.In(c.cfg.Location).Date()
		return time.Date(y, m, slot, 0, 0, 0, 0, c.cfg.Location)
	default:
		return date
	}
}

// each calls f for the counters in a value. The value is a number, a document whose fields are
// slots, or a document of such documents.
func each(v bson.RawValue, f func(slot int, n int64)) error {
	if n, ok := v.AsInt64OK(); ok {
		f(0, n)
		return nil
	}
	doc, ok := v.DocumentOK()
	if !ok {
		return nil // the day was preallocated and has no hits yet
	}
	elements, err := doc.Elements()
	if err != nil {
		return err
	}
	for _, e := range elements {
		slot, err := strconv.Atoi(e.Key())
		if err != nil {
			return err
		}
		if n, ok := e.Value().AsInt64OK(); ok {
			f(slot, n)
		} else if err := each(e.Value(), f); err != nil {
			return err
		}
	}
	return nil
}

// PageTotal is the number of hits of a page.
type PageTotal struct {
	Page string `bson:"_id"`
	N    int64  `bson:"n"`
}

// Top returns the pages of a site with the most hits on the days that begin in [from, to).
func (c *Counters) Top(ctx context.Context, site string, from, to time.Time, limit int) ([]PageTotal, error) {
	when := bson.D{{"$gte", from}, {"$lt", to}}
	found, err := c.daily.Aggregate(ctx, mongo.Pipeline{
		{{"$match", bson.D{{"metadata.site", site}, {"metadata.date", when}}}},
		{{"$group", bson.D{{"_id", "$metadata.page"}, {"n", bson.D{{"$sum", "$daily"}}}}}},
		{{"$sort", bson.D{{"n", -1}, {"_id", 1}}}},
		{{"$limit", limit}},
	})
	if err != nil {
		return nil, fmt.Errorf("hits: find the pages of %s: %w", site, err)
	}
	var out []PageTotal
	if err := found.All(ctx, &out); err != nil {
		return nil, fmt.Errorf("hits: find the pages of %s: %w", site, err)
	}
	return out, nil
}
