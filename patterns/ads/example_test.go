package ads_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/ads"
)

// A campaign can pay for two impressions, and each user sees one a day.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("ads")

	network, err := ads.New(db, ads.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := network.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	now := time.Now()
	campaign, err := network.Book(ctx, ads.Campaign{
		Name: "Spring", Budget: 200, From: now.Add(-time.Minute), To: now.Add(24 * time.Hour),
	})
	if err != nil {
		log.Fatal(err)
	}
	place := ads.Place{Site: "news", Zone: "front"}
	err = network.Put(ctx, place, ads.Ad{
		ID: bson.NewObjectID(), Campaign: campaign, Cost: 100, Cap: 1, Window: 24 * time.Hour, Content: "New shoes!",
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, user := range []string{"ada", "ada", "bob", "cyd"} {
		shown, err := network.Serve(ctx, ads.Request{Place: place, User: user})
		switch {
		case errors.Is(err, ads.ErrNoAd):
			fmt.Println(user, "sees nothing")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(user, "sees", shown.Ad.Content)
		}
	}
	c, err := network.Campaign(ctx, campaign)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Impressions, "impressions,", c.Spent, "spent")
	// Output:
	// ada sees New shoes!
	// ada sees nothing
	// bob sees New shoes!
	// cyd sees nothing
	// 2 impressions, 200 spent
}

// openExample returns a network with a campaign of one day.
func openExample() (network *ads.Ads, campaign bson.ObjectID, end func()) {
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	network, err = ads.New(store.Client().Database("ads"), ads.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, now := context.Background(), time.Now()
	campaign, err = network.Book(ctx,
		ads.Campaign{Name: "Spring", Budget: 1000, From: now.Add(-time.Minute), To: now.Add(24 * time.Hour)})
	if err := errors.Join(err, network.EnsureIndexes(ctx)); err != nil {
		log.Fatal(err)
	}
	return network, campaign, func() { _ = store.Close() }
}

// The most expensive advertisement that matches the keywords is shown.
func ExampleAds_Serve_keywords() {
	network, campaign, end := openExample()
	defer end()
	ctx := context.Background()
	place := ads.Place{Site: "news", Zone: "front"}
	for _, ad := range []ads.Ad{
		{Cost: 10, Content: "Anything you want"},
		{Cost: 50, Content: "Running shoes", Keywords: []string{"shoes", "sport"}},
		{Cost: 80, Content: "Fast cars", Keywords: []string{"cars"}},
	} {
		ad.ID, ad.Campaign = bson.NewObjectID(), campaign
		if err := network.Put(ctx, place, ad); err != nil {
			log.Fatal(err)
		}
	}
	for _, words := range [][]string{{"Shoes"}, {"cars", "shoes"}, {"cheese"}} {
		shown, err := network.Serve(ctx, ads.Request{Place: place, User: "ada", Keywords: words})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(words, shown.Ad.Content)
	}
	// Output:
	// [Shoes] Running shoes
	// [cars shoes] Fast cars
	// [cheese] Anything you want
}

// A click counts once, and a stopped campaign is not shown any more.
func ExampleAds_Stop() {
	network, campaign, end := openExample()
	defer end()
	ctx := context.Background()
	place := ads.Place{Site: "news", Zone: "front"}
	ad := bson.NewObjectID()
	if err := network.Put(ctx, place, ads.Ad{ID: ad, Campaign: campaign, Cost: 10, Content: "New shoes!"}); err != nil {
		log.Fatal(err)
	}
	shown, err := network.Serve(ctx, ads.Request{Place: place, User: "ada"})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if err := network.Click(ctx, *shown, "ada"); err != nil {
			log.Fatal(err)
		}
	}
	clicks, err := network.Clicks(ctx, campaign)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(clicks[ad], "click")
	if err := network.Stop(ctx, campaign); err != nil {
		log.Fatal(err)
	}
	_, err = network.Serve(ctx, ads.Request{Place: place, User: "bob"})
	fmt.Println("nothing to show:", errors.Is(err, ads.ErrNoAd))
	// Output:
	// 1 click
	// nothing to show: true
}
