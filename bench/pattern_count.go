package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	pages = 100
	// hitsPerSecond is the number of hits of one page per second of the simulated time.
	hitsPerSecond = 20
)

var upsert = options.UpdateOne().SetUpsert(true)

// hit returns a random page and the simulated time of a hit on it, in seconds.
func hit(w *worker) (page, second int64) {
	n := w.ids.Add(1)
	return w.rng.Int64N(pages), n / pages / hitsPerSecond
}

func timeseriesInc(_ context.Context, db *mongo.Database) (*routine, error) {
	c := db.Collection("views")
	return repeat(func(ctx context.Context, w *worker) error {
		page, second := hit(w)
		_, err := c.UpdateOne(ctx, field("_id", fmt.Sprintf("page%d/%d", page, second/60)),
			field("$inc", bson.D{{fmt.Sprintf("seconds.%d", second%60), int64(1)}, {"totalViews", int64(1)}}), upsert)
		return err
	}), nil
}

const pgIncView = `insert into views values ($1, jsonb_build_object('totalViews', 1, 'seconds', jsonb_build_object($2::text, 1)))
	on conflict (id) do update set doc = jsonb_set(jsonb_set(views.doc, array['seconds', $2], to_jsonb(coalesce((views.doc#>>array['seconds', $2])::bigint, 0) + 1)),
	'{totalViews}', to_jsonb((views.doc->>'totalViews')::bigint + 1))`

func pgTimeseriesInc(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	return repeat(func(ctx context.Context, w *worker) error {
		page, second := hit(w)
		return pgChange(ctx, pool, pgIncView, fmt.Sprintf("page%d/%d", page, second/60), fmt.Sprint(second%60))
	}), pgTable(ctx, pool, "views", "text")
}

// hitsByHand counts hits in two documents: per hour and minute in a document for the day, and per
// day in a document for the month.
func hitsByHand(_ context.Context, db *mongo.Database) (*routine, error) {
	daily, monthly := db.Collection("daily"), db.Collection("monthly")
	return repeat(func(ctx context.Context, w *worker) error {
		page, second := hit(w)
		minute, day := second/60%1440, second/86400
		_, err := daily.UpdateOne(ctx,
			field("_id", fmt.Sprintf("day%d/site-1/page%d", day, page)), field("$inc", bson.D{
				{"daily", int64(1)},
				{fmt.Sprintf("hourly.%d", minute/60), int64(1)},
				{fmt.Sprintf("minute.%d.%d", minute/60, minute), int64(1)},
			}), upsert)
		if err != nil {
			return err
		}
		_, err = monthly.UpdateOne(ctx, field("_id", fmt.Sprintf("month%d/site-1/page%d", day/30, page)),
			field("$inc", field(fmt.Sprintf("daily.%d", day%30), int64(1))), upsert)
		return err
	}), nil
}

const (
	pgHitDay = `insert into daily values ($1, jsonb_build_object('daily', 1, 'hourly', jsonb_build_object($2::text, 1), 'minute', jsonb_build_object($2::text, jsonb_build_object($3::text, 1))))
		on conflict (id) do update set doc = jsonb_set(jsonb_set(jsonb_set(daily.doc, '{daily}', to_jsonb((daily.doc->>'daily')::bigint + 1)),
		array['hourly', $2], to_jsonb(coalesce((daily.doc#>>array['hourly', $2])::bigint, 0) + 1)),
		array['minute', $2], coalesce(daily.doc#>array['minute', $2], '{}') || jsonb_build_object($3, coalesce((daily.doc#>>array['minute', $2, $3])::bigint, 0) + 1))`
	pgHitMonth = `insert into monthly values ($1, jsonb_build_object('daily', jsonb_build_object($2::text, 1)))
		on conflict (id) do update set doc = jsonb_set(monthly.doc, array['daily', $2], to_jsonb(coalesce((monthly.doc#>>array['daily', $2])::bigint, 0) + 1))`
)

func pgHits(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	if err := pgTable(ctx, pool, "daily", "text"); err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		page, second := hit(w)
		minute, day := second/60%1440, second/86400
		err := pgChange(ctx, pool, pgHitDay, fmt.Sprintf("day%d/site-1/page%d", day, page),
			fmt.Sprint(minute/60), fmt.Sprint(minute))
		if err != nil {
			return err
		}
		return pgChange(ctx, pool, pgHitMonth, fmt.Sprintf("month%d/site-1/page%d", day/30, page), fmt.Sprint(day%30))
	}), pgTable(ctx, pool, "monthly", "text")
}

// incOf increments a counter in one of the given number of documents of 1 KB.
func incOf(documents int64) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		c := db.Collection("docs")
		return repeat(func(ctx context.Context, w *worker) error {
			return changeOne(ctx, c, field("_id", w.rng.Int64N(documents)), field("$inc", field("n", int64(1))))
		}), fill(ctx, c, int(documents), dataset{size: spread}.fields)
	}
}

// spread is the largest number of documents over which increments are spread.
const spread = 10_000

func pgIncOf(documents int64) postgresPattern {
	return func(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
		if err := pgTable(ctx, pool, "docs", "bigint"); err != nil {
			return nil, err
		}
		return repeat(func(ctx context.Context, w *worker) error {
			return pgChange(ctx, pool, "update docs set doc = jsonb_set(doc, '{n}', to_jsonb((doc->>'n')::bigint + 1)) where id = $1", w.rng.Int64N(documents))
		}), pgFill(ctx, pool, "docs", int(documents), dataset{size: spread}.fields)
	}
}

// insertPlain inserts documents of 1 KB in batches.
func insertPlain(batch int) mongoPattern {
	return func(_ context.Context, db *mongo.Database) (*routine, error) {
		c := db.Collection("docs")
		return &routine{units: float64(batch), do: func(ctx context.Context, w *worker) error {
			if batch == 1 {
				_, err := c.InsertOne(ctx, w.nextDocument())
				return err
			}
			docs := make([]any, batch)
			for i := range docs {
				docs[i] = append(bson.Raw(nil), w.nextDocument()...)
			}
			_, err := c.InsertMany(ctx, docs)
			return err
		}}, nil
	}
}

func pgInsertPlain(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	return repeat(func(ctx context.Context, w *worker) error {
		return pgChange(ctx, pool, "insert into docs values ($1, $2)", w.ids.Add(1), w.json)
	}), pgTable(ctx, pool, "docs", "bigint")
}
