package cms

import (
	"context"
	"fmt"
	"net/url"

	"github.com/gorilla/feeds"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Query selects published nodes, either by section and kind or by tag.
type Query struct {
	Section string
	Kind    Kind
	// Tag selects nodes with this tag. Section and Kind, if not empty, must match too.
	Tag string
	// After is the last node of the preceding page.
	After *Node
	// Limit is the largest number of nodes; 20 if zero.
	Limit int64
}

// pageSize is the default number of nodes on a page.
const pageSize = 20

// List returns published nodes, the newest first.
func (c *CMS) List(ctx context.Context, q Query) ([]Node, error) {
	if q.Limit <= 0 {
		q.Limit = pageSize
	}
	newest := bson.D{{publishOn, -1}, {"_id", -1}}
	found, err := c.nodes.Find(ctx, q.filter(c.published()), options.Find().SetSort(newest).SetLimit(q.Limit))
	if err != nil {
		return nil, fmt.Errorf("cms: list nodes: %w", err)
	}
	var nodes []Node
	if err := found.All(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("cms: list nodes: %w", err)
	}
	return nodes, nil
}

// published returns the condition that selects published nodes.
func (c *CMS) published() bson.E {
	return bson.E{publishOn, bson.D{{"$lte", c.env.Now()}}}
}

func (q *Query) filter(published bson.E) bson.D {
	filter := bson.D{published}
	if q.Tag != "" {
		filter = append(filter, bson.E{"metadata.tags", q.Tag})
	}
	if q.Tag == "" || q.Section != "" {
		filter = append(filter, bson.E{"metadata.section", q.Section})
	}
	if q.Kind != "" {
		filter = append(filter, bson.E{"metadata.nodetype", q.Kind})
	}
	if q.After != nil {
		at := q.After.Metadata.Detail.PublishOn
		filter = append(filter, bson.E{"$or", bson.A{
			bson.D{{publishOn, bson.D{{"$lt", at}}}},
			bson.D{{publishOn, at}, {"_id", bson.D{{"$lt", q.After.ID}}}},
		}})
	}
	return filter
}

// TagCount is the number of published nodes with a tag.
type TagCount struct {
	Tag   string `bson:"_id"`
	Nodes int64  `bson:"nodes"`
}

// Tags returns the tags of published nodes with their counts, the most used tags first.
func (c *CMS) Tags(ctx context.Context, limit int64) ([]TagCount, error) {
	found, err := c.nodes.Aggregate(ctx, mongo.Pipeline{
		{{"$match", bson.D{{"metadata.tags", bson.D{{"$gte", ""}}}, c.published()}}},
		{{"$unwind", "$metadata.tags"}},
		{{"$group", bson.D{{"_id", "$metadata.tags"}, {"nodes", bson.D{{"$sum", int64(1)}}}}}},
		{{"$sort", bson.D{{"nodes", -1}, {"_id", 1}}}},
		{{"$limit", max(limit, 1)}},
	})
	if err != nil {
		return nil, fmt.Errorf("cms: count the tags: %w", err)
	}
	var tags []TagCount
	if err := found.All(ctx, &tags); err != nil {
		return nil, fmt.Errorf("cms: count the tags: %w", err)
	}
	return tags, nil
}

// Site describes the site of a feed.
type Site struct {
	Title, Description, Link string
	// URL returns the address of a node.
	URL func(Node) string
}

// Feed returns the newest nodes as a feed, which can be written with ToRss, ToAtom and ToJSON. An
// entry keeps its identity when its slug changes.
func (c *CMS) Feed(ctx context.Context, site Site, q Query) (*feeds.Feed, error) {
	home, err := url.Parse(site.Link)
	if err != nil {
		return nil, fmt.Errorf("cms: the address of the site: %w", err)
	}
	nodes, err := c.List(ctx, q)
	if err != nil {
		return nil, err
	}
	feed := &feeds.Feed{
		Title: site.Title, Description: site.Description,
		Link: &feeds.Link{Href: site.Link}, Id: site.Link,
	}
	for _, n := range nodes {
		m := n.Metadata
		feed.Add(&feeds.Item{
			Title: m.Title, Author: &feeds.Author{Name: m.Author}, Content: m.Detail.Text,
			Link: &feeds.Link{Href: site.URL(n)},
			// RFC 4151: a unique name that does not change with the address.
			Id:          fmt.Sprintf("tag:%s,%s:%s", home.Hostname(), n.Created.Format("2006-01-02"), n.ID.Hex()),
			IsPermaLink: "false",
			Created:     m.Detail.PublishOn, Updated: n.Edited,
		})
		if n.Edited.After(feed.Updated) {
			feed.Updated = n.Edited
		}
	}
	feed.Created = feed.Updated
	return feed, nil
}
