package comments

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// pages stores the comments of a target in documents of at most Config.PageSize comments. All but
// the last document are full.
type pages struct{ *Comments }

type page struct {
	ID       bson.ObjectID `bson:"_id"`
	Target   Target        `bson:"target"`
	Page     int           `bson:"page"`
	Count    int           `bson:"count"`
	Comments []Comment     `bson:"comments"`
}

// insert adds a comment to the last page, or to a new page if the last one is full. If the page is
// full, or another process creates it at this moment, the upsert fails with a duplicate key.
func (p pages) insert(ctx context.Context, on Target, c *Comment) error {
	last, err := p.last(ctx, on)
	for err == nil {
		room := bson.D{{"target", on}, {"page", last}, {"count", bson.D{{"$lt", p.cfg.PageSize}}}}
		_, err = p.coll.UpdateOne(ctx, room, bson.D{
			{"$push", bson.D{{"comments", c}}},
			{"$inc", bson.D{{"count", 1}}},
		}, options.UpdateOne().SetUpsert(true))
		if !mongo.IsDuplicateKeyError(err) {
			return err
		}
		var full bool
		if full, err = p.full(ctx, on, last); full {
			last++
		}
	}
	return err
}

// last returns the number of the last page, or 1 if there is no page yet.
func (p pages) last(ctx context.Context, on Target) (int, error) {
	var doc page
	err := p.coll.FindOne(ctx, bson.D{{"target", on}}, options.FindOne().SetSort(bson.D{{"page", -1}}).
		SetProjection(bson.D{{"page", 1}, {"_id", 0}})).Decode(&doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 1, nil
	}
	return doc.Page, err
}

func (p pages) full(ctx context.Context, on Target, number int) (bool, error) {
	n, err := p.coll.CountDocuments(ctx, bson.D{
		{"target", on}, {"page", number}, {"count", bson.D{{"$gte", p.cfg.PageSize}}},
	})
	return n > 0, err
}

func holds(on Target, id ID) bson.D {
	return bson.D{{"target", on}, {"comments._id", id}}
}

func (p pages) find(ctx context.Context, on Target, id ID) (*Comment, error) {
	return first(ctx, p.coll, holds(on, id))
}

func (p pages) change(ctx context.Context, on Target, id ID, fields bson.D) (bool, error) {
	return changeIn(ctx, p.coll, bson.D{{"target", on}}, id, fields)
}

// page computes the page on which a list begins, which is possible because all pages but the last
// are full. It reads the pages that contain the list.
func (p pages) page(ctx context.Context, on Target, r Range) ([]Comment, error) {
	from, within := r.Skip/p.cfg.PageSize+1, r.Skip%p.cfg.PageSize
	if r.After != "" {
		var doc page
		err := p.coll.FindOne(ctx, holds(on, r.After),
			options.FindOne().SetProjection(bson.D{{"page", 1}, {"comments._id", 1}})).Decode(&doc)
		if err != nil {
			return nil, err
		}
		from = doc.Page
		for i, c := range doc.Comments {
			if c.ID == r.After {
				within = i + 1
			}
		}
	}
	spanned := (within+r.Limit-1)/p.cfg.PageSize + 1
	all, err := p.read(ctx, on, from, int64(spanned))
	if err != nil {
		return nil, err
	}
	return cut(all, Range{Skip: within, Limit: r.Limit}), nil
}

// read returns the comments of limit pages, or of all pages if limit is zero.
func (p pages) read(ctx context.Context, on Target, from int, limit int64) ([]Comment, error) {
	cur, err := p.coll.Find(ctx, bson.D{{"target", on}, {"page", bson.D{{"$gte", from}}}},
		options.Find().SetSort(bson.D{{"page", 1}}).SetLimit(limit))
	if err != nil {
		return nil, err
	}
	var docs []page
	if err := cur.All(ctx, &docs); err != nil {
		return nil, err
	}
	var all []Comment
	for _, doc := range docs {
		all = append(all, doc.Comments...)
	}
	return all, nil
}

func (p pages) thread(ctx context.Context, on Target, root string, r Range) ([]Comment, error) {
	all, err := p.read(ctx, on, 1, 0)
	if err != nil {
		return nil, err
	}
	return threaded(all, root, r)
}

func (p pages) count(ctx context.Context, on Target) (int64, error) {
	return countIn(ctx, p.coll, bson.D{{"target", on}})
}

func (p pages) check(ctx context.Context, visit func(Target, []Comment), violate func(string, any, string)) error {
	cur, err := p.coll.Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{"target", 1}, {"page", 1}}))
	if err != nil {
		return err
	}
	defer func() { _ = cur.Close(ctx) }()
	var all []Comment
	var last *page
	for cur.Next(ctx) {
		doc := new(page)
		if err := cur.Decode(doc); err != nil {
			return err
		}
		if last == nil || !sameTarget(last.Target, doc.Target) {
			if last != nil {
				visit(last.Target, all)
			}
			all, last = nil, &page{Target: doc.Target, Count: p.cfg.PageSize}
		}
		if doc.Page != last.Page+1 {
			violate(RulePages, doc.ID, fmt.Sprintf("page %d of %v behind page %d", doc.Page, doc.Target, last.Page))
		} else if last.Count != p.cfg.PageSize {
			violate(RulePages, doc.ID,
				fmt.Sprintf("page %d of %v behind one of %d comments, and not %d", doc.Page,
					doc.Target, last.Count, p.cfg.PageSize))
		}
		if doc.Count != len(doc.Comments) {
			violate(RuleCount, doc.ID, fmt.Sprintf("%d comments, counted as %d", len(doc.Comments), doc.Count))
		}
		if len(doc.Comments) > p.cfg.PageSize {
			violate(RuleFull, doc.ID, fmt.Sprintf("%d comments of %d", len(doc.Comments), p.cfg.PageSize))
		}
		all, last = append(all, doc.Comments...), doc
	}
	if last != nil {
		visit(last.Target, all)
	}
	return cur.Err()
}

func (p pages) indexes() []patterns.Index {
	return []patterns.Index{
		{Collection: p.coll.Name(), Model: mongo.IndexModel{
			Keys: bson.D{{"target", 1}, {"page", 1}}, Options: options.Index().SetUnique(true),
		}},
		{Collection: p.coll.Name(), Model: mongo.IndexModel{Keys: bson.D{{"target", 1}, {"comments._id", 1}}}},
	}
}

func (pages) shardKey() bson.D { return bson.D{{"target", 1}, {"page", 1}} }
