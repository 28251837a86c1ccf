package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ErrRule is returned for a price rule that is not valid.
var ErrRule = errors.New("catalog: a price rule has a name, a time from which until which it holds, and either a percentage or a price")

// Rule reduces the price of products for a time. If several rules match a product, the rule with
// the lowest price counts.
type Rule struct {
	Name string `bson:"_id"`
	// SKU, Type and Region limit the rule to one product, one type or one region, if they are not
	// empty.
	SKU    string `bson:"sku,omitempty"`
	Type   string `bson:"type,omitempty"`
	Region string `bson:"region,omitempty"`
	// MinQuantity is the smallest quantity to which the rule applies.
	MinQuantity int64     `bson:"min_quantity,omitempty"`
	From        time.Time `bson:"from"`
	Until       time.Time `bson:"until"`
	// Percent is subtracted from the retail price; it is between 1 and 100. Price replaces the
	// retail price. A rule has one of the two.
	Percent int64 `bson:"percent,omitempty"`
	Price   int64 `bson:"price,omitempty"`
}

func (r Rule) valid() bool {
	return r.Name != "" && r.From.Before(r.Until) && r.MinQuantity >= 0 && r.Percent >= 0 &&
		r.Percent <= 100 && r.Price >= 0 &&
		(r.Percent > 0) != (r.Price > 0)
}

// SetRule stores a rule, and replaces an existing rule with the same name.
func (c *Catalog) SetRule(ctx context.Context, r Rule) error {
	if !r.valid() {
		return fmt.Errorf("%w: %+v", ErrRule, r)
	}
	_, err := c.rules.ReplaceOne(ctx, bson.D{{"_id", r.Name}}, r, options.Replace().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) { // another process has just inserted the rule
		_, err = c.rules.ReplaceOne(ctx, bson.D{{"_id", r.Name}}, r)
	}
	if err != nil {
		return fmt.Errorf("catalog: set the price rule %s: %w", r.Name, err)
	}
	return nil
}

// RemoveRule removes a rule. It is not an error if the rule does not exist.
func (c *Catalog) RemoveRule(ctx context.Context, name string) error {
	if _, err := c.rules.DeleteOne(ctx, bson.D{{"_id", name}}); err != nil {
		return fmt.Errorf("catalog: remove the price rule %s: %w", name, err)
	}
	return nil
}

// Rules holds the price rules that are valid at one moment. It is immutable.
type Rules struct{ list []Rule }

// Rules reads the rules that are valid at a time. Call it once for all products of a page or a
// cart.
func (c *Catalog) Rules(ctx context.Context, at time.Time) (*Rules, error) {
	holds := bson.D{{"until", bson.D{{"$gt", at}}}, {"from", bson.D{{"$lte", at}}}}
	cur, err := c.rules.Find(ctx, holds, options.Find().SetSort(bson.D{{"_id", 1}}))
	if err != nil {
		return nil, fmt.Errorf("catalog: read the price rules: %w", err)
	}
	out := &Rules{}
	if err := cur.All(ctx, &out.list); err != nil {
		return nil, fmt.Errorf("catalog: read the price rules: %w", err)
	}
	return out, nil
}

// Sale describes a purchase.
type Sale struct {
	Region string
	// Quantity is the number of pieces; 1 if zero.
	Quantity int64
}

// Price returns the price of one piece, and the name of the rule that sets it. The name is empty if
// the retail price applies. A percentage is rounded in favour of the shop: the price is rounded up
// to the smallest unit.
func Price[D Details](rules *Rules, p *Product[D], s Sale) (price int64, rule string) {
	price = p.Pricing.Retail
	for _, r := range rules.list {
		if r.SKU != "" && r.SKU != p.SKU || r.Type != "" && r.Type != p.Type ||
			r.Region != "" && r.Region != s.Region ||
			r.MinQuantity > max(s.Quantity, 1) {
			continue
		}
		reduced := r.Price
		if r.Percent > 0 {
			reduced = p.Pricing.Retail - p.Pricing.Retail*r.Percent/100
		}
		if reduced < price {
			price, rule = reduced, r.Name
		}
	}
	return price, rule
}
