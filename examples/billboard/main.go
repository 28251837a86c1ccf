// Command billboard chooses advertisements for users. Of the advertisements that match the user's
// keywords, it chooses the one that pays best. It respects the budget of each campaign, and how
// often a user may see an advertisement. It demonstrates patterns/ads.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns/ads"
)

func main() { demo.Main("billboard", run) }

var front = ads.Place{Site: "news", Zone: "front"}

func run(ctx context.Context, out io.Writer, db *mongo.Database) error {
	network, err := ads.New(db, ads.Config{})
	if err != nil {
		return err
	}
	if err := network.EnsureIndexes(ctx); err != nil {
		return err
	}
	shoes, err := book(ctx, network, "shoes", 300,
		ads.Ad{Cost: 100, Cap: 1, Window: 24 * time.Hour, Content: "New shoes!"})
	if err != nil {
		return err
	}
	if _, err := book(ctx, network, "boats", 0,
		ads.Ad{Cost: 500, Keywords: []string{"sea"}, Content: "Sail away!"}); err != nil {
		return err
	}
	for _, r := range []ads.Request{
		{User: "ann"},
		{User: "ann"},
		{User: "bob", Keywords: []string{"sea"}},
		{User: "bob"},
		{User: "cyd"},
		{User: "dan"},
	} {
		if err := serve(ctx, out, network, r); err != nil {
			return err
		}
	}
	c, err := network.Campaign(ctx, shoes)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d impressions, %d of %d spent\n", c.Name, c.Impressions, c.Spent, c.Budget)
	if err := network.Stop(ctx, shoes); err != nil {
		return err
	}
	return demo.Check(ctx, out, "ads", network)
}

// book adds a campaign with one advertisement on the front page.
func book(ctx context.Context, network *ads.Ads, name string, budget int64, ad ads.Ad) (bson.ObjectID, error) {
	now := time.Now()
	campaign, err := network.Book(ctx,
		ads.Campaign{Name: name, Budget: budget, From: now.Add(-time.Hour), To: now.Add(24 * time.Hour)})
	if err != nil {
		return campaign, err
	}
	ad.ID, ad.Campaign = bson.NewObjectID(), campaign
	return campaign, network.Put(ctx, front, ad)
}

// serve shows a user the advertisement that the network chooses. The user clicks on it.
func serve(ctx context.Context, out io.Writer, network *ads.Ads, r ads.Request) error {
	r.Place = front
	shown, err := network.Serve(ctx, r)
	if errors.Is(err, ads.ErrNoAd) {
		fmt.Fprintln(out, r.User, "sees nothing")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, r.User, "sees", shown.Ad.Content)
	return network.Click(ctx, *shown, r.User)
}
