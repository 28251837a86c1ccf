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

// A campaign that can pay for two impressions, of which a user sees one a day.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	network, err := ads.New(store.Client().Database("ads"), ads.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := network.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	now := time.Now()
	campaign, err := network.Book(ctx, ads.Campaign{Name: "Spring", Budget: 200, From: now.Add(-time.Minute), To: now.Add(24 * time.Hour)})
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
	fmt.Println(c.Impressions, "impressions,", c.Spent, "spent", err)
	// Output:
	// ada sees New shoes!
	// ada sees nothing
	// bob sees New shoes!
	// cyd sees nothing
	// 2 impressions, 200 spent <nil>
}
