package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns/schema"
)

// Product is a product with details of type D.
type Product[D Details] struct {
	SKU         string   `bson:"_id"`
	Type        string   `bson:"type"`
	Title       string   `bson:"title"`
	Description string   `bson:"description"`
	ASIN        string   `bson:"asin"`
	Shipping    Shipping `bson:"shipping"`
	Pricing     Pricing  `bson:"pricing"`
	Details     D        `bson:"details"`
	// Rev is the number of changes of the product. It is 0 for a product that is not stored.
	Rev int64 `bson:"rev"`
}

// Shipping holds the weight and the size of the parcel.
type Shipping struct {
	Weight     int64       `bson:"weight,omitempty"`
	Dimensions *Dimensions `bson:"dimensions,omitempty"`
}

// Dimensions are the dimensions of a parcel.
type Dimensions struct {
	Width  int64 `bson:"width"`
	Height int64 `bson:"height"`
	Depth  int64 `bson:"depth"`
}

// Pricing holds prices in the smallest unit of the currency. Savings and PctSavings are computed
// from List and Retail, and stored so that products can be searched and sorted by them.
type Pricing struct {
	List       int64 `bson:"list,omitempty"`
	Retail     int64 `bson:"retail,omitempty"`
	Savings    int64 `bson:"savings,omitempty"`
	PctSavings int64 `bson:"pct_savings,omitempty"`
}

// NewPricing computes the savings and the percentage saved, rounded to a whole percent. It returns
// ErrPrice if the retail price is negative or above the list price.
func NewPricing(list, retail int64) (Pricing, error) {
	if retail < 0 || retail > list {
		return Pricing{}, fmt.Errorf("%w: %d of %d", ErrPrice, retail, list)
	}
	p := Pricing{List: list, Retail: retail, Savings: list - retail}
	if list > 0 {
		p.PctSavings = int64(float64(p.Savings)/float64(list)*100 + 0.5)
	}
	return p, nil
}

// document returns a product as it is stored, with a revision.
func document[D Details](c *Catalog, p *Product[D], rev int64) (bson.D, error) {
	stored := *p
	stored.Type, stored.Rev = p.Details.Type(), rev
	if err := c.known(stored.Type); err != nil {
		return nil, err
	}
	if err := p.Details.Validate(); err != nil {
		return nil, fmt.Errorf("catalog: product %s: %w", p.SKU, err)
	}
	var err error
	if stored.Pricing, err = NewPricing(p.Pricing.List, p.Pricing.Retail); err != nil {
		return nil, err
	}
	data, err := bson.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("catalog: product %s: %w", p.SKU, err)
	}
	var doc bson.D
	if err := bson.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("catalog: product %s: %w", p.SKU, err)
	}
	return append(doc, bson.E{schema.DefaultField, c.schema.Version()}), nil
}

// Save stores a product. If Rev is 0, it inserts a new product, and returns ErrExists if the SKU is
// taken. Otherwise it replaces the revision that was read. It sets Type, Rev and the computed
// fields of Pricing in p. It returns ErrConflict if somebody else has changed the product; then
// read the product again.
func Save[D Details](ctx context.Context, c *Catalog, p *Product[D]) error {
	doc, err := document(c, p, p.Rev+1)
	if err != nil {
		return err
	}
	if p.Rev == 0 {
		_, err = c.products.InsertOne(ctx, doc)
	} else {
		var res *mongo.UpdateResult
		filter := bson.D{{"_id", p.SKU}, {"type", p.Details.Type()}, {"rev", p.Rev}}
		res, err = c.products.ReplaceOne(ctx, filter, doc)
		if err == nil && res.MatchedCount == 0 {
			return ErrConflict
		}
	}
	if mongo.IsDuplicateKeyError(err) {
		return ErrExists
	}
	if err != nil {
		return fmt.Errorf("catalog: save %s: %w", p.SKU, err)
	}
	p.Type, p.Rev = p.Details.Type(), p.Rev+1
	p.Pricing, err = NewPricing(p.Pricing.List, p.Pricing.Retail)
	return err
}

// Get returns a product, or ErrNotFound.
func Get[D Details](ctx context.Context, c *Catalog, sku string) (*Product[D], error) {
	raw, err := c.products.FindOne(ctx, bson.D{{"_id", sku}}).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: read %s: %w", sku, err)
	}
	return decode[D](c, raw)
}

func decode[D Details](c *Catalog, raw bson.Raw) (*Product[D], error) {
	var zero D
	if name, _ := raw.Lookup("type").StringValueOK(); zero.Type() != "" && name != zero.Type() {
		return nil, fmt.Errorf("%w: %q", ErrType, name)
	}
	p := &Product[D]{}
	if err := c.schema.Decode(raw, p); err != nil {
		return nil, fmt.Errorf("catalog: read a product: %w", err)
	}
	return p, nil
}

// SetPrice sets the prices of a product, whatever its revision is.
func (c *Catalog) SetPrice(ctx context.Context, sku string, list, retail int64) error {
	p, err := NewPricing(list, retail)
	if err != nil {
		return err
	}
	err = c.schema.Update(ctx, sku, bson.D{
		{"$set", bson.D{{"pricing", p}}}, {"$inc", bson.D{{"rev", int64(1)}}},
	})
	if errors.Is(err, schema.ErrNotFound) {
		return ErrNotFound
	}
	return err
}

// Delete removes a product. It returns ErrNotFound if the product does not exist.
func (c *Catalog) Delete(ctx context.Context, sku string) error {
	res, err := c.products.DeleteOne(ctx, bson.D{{"_id", sku}})
	if err != nil {
		return fmt.Errorf("catalog: delete %s: %w", sku, err)
	}
	if res.DeletedCount == 0 {
		return ErrNotFound
	}
	return nil
}

// importAtOnce is the largest number of products in one bulk write.
const importAtOnce = 500

// Import inserts new products and replaces existing ones, whatever their revisions are. It may be
// repeated. It returns the refused products by their SKUs, each with the reason.
func Import[D Details](ctx context.Context, c *Catalog, products []Product[D]) (refused map[string]error, err error) {
	refused = map[string]error{}
	for some := range slices.Chunk(products, importAtOnce) {
		var writes []mongo.WriteModel
		var skus []string
		for i := range some {
			doc, err := document(c, &some[i], 0)
			if err != nil {
				refused[some[i].SKU] = err
				continue
			}
			next := bson.D{{"rev", bson.D{{"$add", bson.A{bson.D{{"$ifNull", bson.A{"$rev", int64(0)}}}, int64(1)}}}}}
			filter := bson.D{{"_id", some[i].SKU}, {"type", some[i].Details.Type()}}
			update := mongo.Pipeline{{{"$replaceWith", bson.D{{"$mergeObjects", bson.A{
				bson.D{{"$literal", doc}}, next,
			}}}}}}
			writes = append(writes, mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(update).SetUpsert(true))
			skus = append(skus, some[i].SKU)
		}
		if err := c.write(ctx, writes, skus, refused); err != nil {
			return refused, err
		}
	}
	return refused, nil
}

// write executes the upserts of an import. An upsert that fails because another process has just
// inserted the product is executed again. If it fails again, a product of another type has the SKU.
func (c *Catalog) write(ctx context.Context, writes []mongo.WriteModel, skus []string, refused map[string]error) error {
	for again := false; len(writes) > 0; again = true {
		_, err := c.products.BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false))
		failed := mongo.BulkWriteException{}
		if err != nil && (!errors.As(err, &failed) || failed.WriteConcernError != nil) {
			return fmt.Errorf("catalog: import: %w", err)
		}
		c.env.Metrics.Add("catalog.imported", int64(len(writes)-len(failed.WriteErrors)))
		var writesLeft []mongo.WriteModel
		var skusLeft []string
		for _, e := range failed.WriteErrors {
			switch {
			case !mongo.IsDuplicateKeyError(e):
				refused[skus[e.Index]] = e
			case again:
				refused[skus[e.Index]] = ErrExists
			default:
				writesLeft, skusLeft = append(writesLeft, writes[e.Index]), append(skusLeft, skus[e.Index])
			}
		}
		writes, skus = writesLeft, skusLeft
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
