package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	articles       = 1000
	latest         = 10
	bucketSize     = 50
	inboxUsers     = 500
	inboxReceivers = 2
	somethingSaid  = "I had not thought of it in that way, and I am not sure that I shall again, but it was good to read."
)

func comment(n int64) bson.D {
	return bson.D{{"_id", n}, {"publishedOn", n}, {"message", somethingSaid}}
}

// article returns a function that returns the i-th article. If full is true, an article begins with
// ten comments.
func article(full bool) func(i int) bson.D {
	return func(i int) bson.D {
		list := bson.A{}
		for range latest {
			if full {
				list = append(list, comment(0))
			}
		}
		return bson.D{
			{"_id", int64(i)},
			{"title", fmt.Sprintf("article %d", i)},
			{"content", jobPayload},
			{"latestComments", list},
		}
	}
}

func sliceCache(full bool) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		c := db.Collection("articles")
		return repeat(func(ctx context.Context, w *worker) error {
			push := bson.D{{"$each", bson.A{comment(w.ids.Add(1))}}, {"$slice", -latest}}
			return changeOne(ctx, c, field("_id", w.rng.Int64N(articles)),
				field("$push", field("latestComments", push)))
		}), fill(ctx, c, articles, article(full))
	}
}

const pgPushLatest = `update articles set doc = jsonb_set(doc, '{latestComments}',
	(case when jsonb_array_length(doc->'latestComments') >= 10 then (doc->'latestComments') - 0 else doc->'latestComments' end) || $2::jsonb) where id = $1`

func pgSliceCache(full bool) postgresPattern {
	return func(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
		if err := pgTable(ctx, pool, "articles", "bigint"); err != nil {
			return nil, err
		}
		return repeat(func(ctx context.Context, w *worker) error {
			text, err := asJSON(comment(w.ids.Add(1)))
			if err != nil {
				return err
			}
			return pgChange(ctx, pool, pgPushLatest, w.rng.Int64N(articles), text)
		}), pgFill(ctx, pool, "articles", articles, article(full))
	}
}

// commentBucket increments the number of comments in an article. From that number it computes the
// page to which it pushes the comment.
func commentBucket(ctx context.Context, db *mongo.Database) (*routine, error) {
	c, buckets := db.Collection("articles"), db.Collection("comments")
	opts := options.FindOneAndUpdate().SetReturnDocument(options.After).SetProjection(field("comments", 1))
	return repeat(func(ctx context.Context, w *worker) error {
		id := w.rng.Int64N(articles)
		raw, err := c.FindOneAndUpdate(ctx, field("_id", id), field("$inc", field("comments", int64(1))), opts).Raw()
		if err != nil {
			return err
		}
		page := (raw.Lookup("comments").AsInt64() - 1) / bucketSize
		_, err = buckets.UpdateOne(ctx, field("_id", fmt.Sprintf("%d/%d", id, page)), bson.D{
			{"$inc", field("count", int64(1))}, {"$push", field("comments", comment(w.ids.Add(1)))},
		}, upsert)
		return err
	}), fill(ctx, c, articles, article(false))
}

const (
	pgCountComment = `update articles set doc = jsonb_set(doc, '{comments}', to_jsonb(coalesce((doc->>'comments')::bigint, 0) + 1)) where id = $1
		returning (doc->>'comments')::bigint`
	pgPushComment = `insert into comments values ($1, jsonb_build_object('count', 1, 'comments', jsonb_build_array($2::jsonb)))
		on conflict (id) do update set doc = jsonb_build_object('count', (comments.doc->>'count')::bigint + 1, 'comments', comments.doc->'comments' || $2::jsonb)`
)

func pgCommentBucket(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	if err := errors.Join(pgTable(ctx, pool, "articles", "bigint"),
		pgTable(ctx, pool, "comments", "text")); err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		id := w.rng.Int64N(articles)
		var count int64
		if err := pool.QueryRow(ctx, pgCountComment, id).Scan(&count); err != nil {
			return err
		}
		text, err := asJSON(comment(w.ids.Add(1)))
		if err != nil {
			return err
		}
		return pgChange(ctx, pool, pgPushComment, fmt.Sprintf("%d/%d", id, (count-1)/bucketSize), text)
	}), pgFill(ctx, pool, "articles", articles, article(false))
}

// inbox sends each message to several users. A counter of each user gives the bucket to which the
// message is pushed.
func inbox(ctx context.Context, db *mongo.Database) (*routine, error) {
	users, boxes := db.Collection("users"), db.Collection("inbox")
	opts := options.FindOneAndUpdate().SetReturnDocument(options.After).SetUpsert(true)
	return repeat(func(ctx context.Context, w *worker) error {
		for range inboxReceivers {
			owner := fmt.Sprintf("user%d", w.rng.IntN(inboxUsers))
			raw, err := users.FindOneAndUpdate(ctx, field("_id", owner),
				field("$inc", field("msg_count", int64(1))), opts).Raw()
			if err != nil {
				return err
			}
			filter := bson.D{{"owner", owner}, {"sequence", raw.Lookup("msg_count").AsInt64() / bucketSize}}
			if _, err := boxes.UpdateOne(ctx, filter,
				field("$push", field("messages", comment(w.ids.Add(1)))), upsert); err != nil {
				return err
			}
		}
		return nil
	}), uniqueIndex(ctx, boxes, bson.D{{"owner", 1}, {"sequence", 1}})
}

func uniqueIndex(ctx context.Context, c *mongo.Collection, keys bson.D) error {
	_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys, Options: options.Index().SetUnique(true)})
	return err
}

const (
	pgCountMessage = `insert into users values ($1, '{"msg_count": 1}')
		on conflict (id) do update set doc = jsonb_set(users.doc, '{msg_count}', to_jsonb((users.doc->>'msg_count')::bigint + 1)) returning (doc->>'msg_count')::bigint`
	pgPushMessage = `insert into inbox (doc) values (jsonb_build_object('owner', $1::text, 'sequence', $2::bigint, 'messages', jsonb_build_array($3::jsonb)))
		on conflict ((doc->>'owner'), ((doc->>'sequence')::bigint)) do update set doc = jsonb_set(inbox.doc, '{messages}', inbox.doc->'messages' || $3::jsonb)`
)

func pgInbox(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	err := errors.Join(pgTable(ctx, pool, "users", "text"), pgTable(ctx, pool, "inbox", "bigserial"))
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, "create unique index on inbox ((doc->>'owner'), ((doc->>'sequence')::bigint))")
	return repeat(func(ctx context.Context, w *worker) error {
		for range inboxReceivers {
			owner := fmt.Sprintf("user%d", w.rng.IntN(inboxUsers))
			var count int64
			if err := pool.QueryRow(ctx, pgCountMessage, owner).Scan(&count); err != nil {
				return err
			}
			text, err := asJSON(comment(w.ids.Add(1)))
			if err != nil {
				return err
			}
			if err := pgChange(ctx, pool, pgPushMessage, owner, count/bucketSize, text); err != nil {
				return err
			}
		}
		return nil
	}), err
}

func event(n int64) bson.D {
	return bson.D{
		{"_id", n},
		{"host", fmt.Sprintf("10.0.%d.%d", n%7, n%251)},
		{"user", "frank"},
		{"time", n},
		{"path", fmt.Sprintf("/page%d.gif", n%pages)},
		{"request", "GET /page.gif HTTP/1.0"},
		{"status", int32(200)},
		{"response_size", int32(2326)},
		{"referrer", "http://www.example.com/start.html"},
		{"user_agent", "Mozilla/4.08 [en] (Win98; I ;Nav)"},
	}
}

func eventLog(ctx context.Context, db *mongo.Database) (*routine, error) {
	c := db.Collection("events")
	return repeat(func(ctx context.Context, w *worker) error {
		_, err := c.InsertOne(ctx, event(w.ids.Add(1)))
		return err
	}), indexOn(ctx, c, field("path", 1), bson.D{{"host", 1}, {"time", 1}})
}

func pgEventLog(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	return repeat(func(ctx context.Context, w *worker) error {
		doc := event(w.ids.Add(1))
		text, err := asJSON(doc[1:])
		if err != nil {
			return err
		}
		return pgChange(ctx, pool, "insert into events values ($1, $2)", doc[0].Value, text)
	}), pgTable(ctx, pool, "events", "bigint", "((doc->>'path'))", "((doc->>'host'), ((doc->>'time')::bigint))")
}

const (
	zones      = 200
	adsPerZone = 10
	adUsers    = 2000
	// adLimit is how many times a user may see an advertisement.
	adLimit = 1000
)

// zone returns the i-th place for advertisements. Its advertisements are sorted, the best first.
func zone(i int) bson.D {
	var ads bson.A
	for a := range adsPerZone {
		ads = append(ads, bson.D{
			{"id", fmt.Sprintf("ad%d", (i+a)%37)},
			{"campaign", fmt.Sprint("campaign", a)},
			{"ecpm", int64(1000 - 50*a)},
			{"impressions", int64(0)},
		})
	}
	return bson.D{{"_id", int64(i)}, {"site", int64(i / 10)}, {"zone", int64(i % 10)}, {"ads", ads}}
}

// chooseAd returns the first advertisement of a place that the user has not seen too often. profile
// counts what the user has seen. It is nil for a new user.
func chooseAd(z, profile bson.Raw) (string, error) {
	ads, err := z.Lookup("ads").Array().Values()
	if err != nil {
		return "", err
	}
	for _, v := range ads {
		id := v.Document().Lookup("id").StringValue()
		if seen, ok := profile.Lookup("impressions", id).AsInt64OK(); !ok || seen < adLimit {
			return id, nil
		}
	}
	return "", errors.New("no advertisement is left")
}

func adServe(ctx context.Context, db *mongo.Database) (*routine, error) {
	c, profiles := db.Collection("zones"), db.Collection("profiles")
	if err := uniqueIndex(ctx, c, bson.D{{"site", 1}, {"zone", 1}}); err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		n, user := w.rng.IntN(zones), field("_id", w.rng.Int64N(adUsers))
		place := bson.D{{"site", int64(n / 10)}, {"zone", int64(n % 10)}}
		z, err := c.FindOne(ctx, place).Raw()
		if err != nil {
			return err
		}
		profile, err := profiles.FindOne(ctx, user).Raw()
		if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
			return err
		}
		ad, err := chooseAd(z, profile)
		if err != nil {
			return err
		}
		if _, err := profiles.UpdateOne(ctx, user,
			field("$inc", field("impressions."+ad, int64(1))), upsert); err != nil {
			return err
		}
		return changeOne(ctx, c, append(place, bson.E{"ads.id", ad}),
			field("$inc", field("ads.$.impressions", int64(1))))
	}), fill(ctx, c, zones, zone)
}

const (
	// pgBestAd chooses an advertisement in the database. With MongoDB, the client chooses, and
	// needs two queries.
	pgBestAd = `select a.ad->>'id', a.n::int - 1 from zones, jsonb_array_elements(doc->'ads') with ordinality a(ad, n) where (doc->>'site')::bigint = $1 and (doc->>'zone')::bigint = $2
		and coalesce((select (p.doc#>>array['impressions', a.ad->>'id'])::bigint from profiles p where p.id = $3), 0) < 1000 order by a.n limit 1`
	pgCountSeen = `insert into profiles values ($1, jsonb_build_object('impressions', jsonb_build_object($2::text, 1)))
		on conflict (id) do update set doc = jsonb_set(profiles.doc, array['impressions', $2], to_jsonb(coalesce((profiles.doc#>>array['impressions', $2])::bigint, 0) + 1))`
	pgCountShown = `update zones set doc = jsonb_set(doc, array['ads', $3::int::text, 'impressions'], to_jsonb((doc#>>array['ads', $3::int::text, 'impressions'])::bigint + 1))
		where (doc->>'site')::bigint = $1 and (doc->>'zone')::bigint = $2`
)

func pgAdServe(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	err := errors.Join(pgTable(ctx, pool, "zones", "bigint", "(((doc->>'site')::bigint), ((doc->>'zone')::bigint))"),
		pgTable(ctx, pool, "profiles", "bigint"))
	if err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		n, user := w.rng.IntN(zones), w.rng.Int64N(adUsers)
		site, place := int64(n/10), int64(n%10)
		var ad string
		var position int
		if err := pool.QueryRow(ctx, pgBestAd, site, place, user).Scan(&ad, &position); errors.Is(err, pgx.ErrNoRows) {
			return errors.New("no advertisement is left")
		} else if err != nil {
			return err
		}
		if err := pgChange(ctx, pool, pgCountSeen, user, ad); err != nil {
			return err
		}
		return pgChange(ctx, pool, pgCountShown, site, place, position)
	}), pgFill(ctx, pool, "zones", zones, zone)
}
