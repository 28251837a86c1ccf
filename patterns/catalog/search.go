package catalog

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Query selects products. A product must satisfy all conditions.
type Query struct {
	// Where holds conditions on facets: {"details.genre": "Jazz"}, {"pricing.retail": {$lt: 1000}}.
	Where bson.D
	// Title is a part of the title. The case of letters does not matter.
	Title string
	// MinDiscount selects products whose discount is greater than this percentage of the list
	// price. The products with the largest discount come first.
	MinDiscount int
	// Text is a search string of $text. It is searched in all fields of Config.Text, and the best
	// matches come first.
	Text string
	// Limit is the largest number of products; DefaultLimit if zero.
	Limit int
}

// Filter returns the filter and the sort order of a query. An empty typeName selects products of
// all types. Package paging can use the result.
func (c *Catalog) Filter(typeName string, q Query) (filter, order bson.D) {
	filter = bson.D{}
	if typeName != "" {
		filter = append(filter, bson.E{"type", typeName})
	}
	filter = append(filter, q.Where...)
	if q.Title != "" {
		filter = append(filter, bson.E{"title", bson.Regex{Pattern: regexp.QuoteMeta(q.Title), Options: "i"}})
	}
	if sort := c.types[typeName].sort; sort != "" {
		order = bson.D{{sort, -1}}
	}
	if q.MinDiscount > 0 {
		filter = append(filter, bson.E{"pricing.pct_savings", bson.D{{"$gt", q.MinDiscount}}})
		order = bson.D{{"pricing.pct_savings", -1}}
	}
	if q.Text != "" {
		filter = append(filter, bson.E{"$text", bson.D{{"$search", q.Text}}})
		order = bson.D{{"score", bson.D{{"$meta", "textScore"}}}}
	}
	return filter, order
}

func (q Query) limit() int64 {
	if q.Limit > 0 {
		return int64(q.Limit)
	}
	return DefaultLimit
}

// failed wraps an error of a search. It adds ErrNoText if the server has no text index.
func failed(err error) error {
	var refused mongo.ServerError
	if errors.As(err, &refused) && refused.HasErrorCode(codeIndexNotFound) {
		return fmt.Errorf("%w: %w", ErrNoText, err)
	}
	return fmt.Errorf("catalog: search: %w", err)
}

// Find returns the products of a type. With Any it returns products of all types.
func Find[D Details](ctx context.Context, c *Catalog, q Query) ([]*Product[D], error) {
	var zero D
	filter, order := c.Filter(zero.Type(), q)
	opts := options.Find().SetLimit(q.limit())
	if len(order) > 0 {
		opts.SetSort(order)
	}
	cur, err := c.products.Find(ctx, filter, opts)
	if err != nil {
		return nil, failed(err)
	}
	var raws []bson.Raw
	if err := cur.All(ctx, &raws); err != nil {
		return nil, failed(err)
	}
	return decodeAll[D](c, raws)
}

func decodeAll[D Details](c *Catalog, raws []bson.Raw) ([]*Product[D], error) {
	out := make([]*Product[D], len(raws))
	for i, raw := range raws {
		p, err := decode[D](c, raw)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

// Facet asks for the number of found products for each value of a field.
type Facet struct {
	Path string
	// Bounds, if not empty, asks for ranges instead of values: each range begins at a bound and
	// ends before the next one. The bounds must ascend. A range is named by its lower bound.
	Bounds []any
	// Limit is the number of values to count, the most frequent ones first; DefaultCounts if zero.
	// Ranges are always all counted.
	Limit int
}

// Count is a value of a facet, or the lower bound of a range, with the number of its products.
// Products outside all ranges are counted under the value Other.
type Count struct {
	Value any   `bson:"_id"`
	N     int64 `bson:"n"`
}

// Other is the value of the Count for products outside all ranges.
const Other = "other"

// Page is the result of a Search.
type Page[D Details] struct {
	Products []*Product[D]
	// Total is the number of products found. Products holds the first of them.
	Total int64
	// Counts holds the counts of each facet, in the order of the facets.
	Counts [][]Count
}

// Search is like Find, but also counts the products found, in total and by facets. It takes one
// round trip.
func Search[D Details](ctx context.Context, c *Catalog, q Query, facets ...Facet) (*Page[D], error) {
	var zero D
	filter, order := c.Filter(zero.Type(), q)
	pipeline := mongo.Pipeline{{{"$match", filter}}}
	if len(order) > 0 {
		// Sort before the stage $facet: only there an index can provide the order.
		pipeline = append(pipeline, bson.D{{"$sort", order}})
	}
	stages := bson.D{
		{"products", bson.A{bson.D{{"$limit", q.limit()}}}},
		{"total", bson.A{bson.D{{"$count", "n"}}}},
	}
	for i, f := range facets {
		stages = append(stages, bson.E{fmt.Sprint("f", i), f.stages()})
	}
	pipeline = append(pipeline, bson.D{{"$facet", stages}})
	cur, err := c.products.Aggregate(ctx, pipeline, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return nil, failed(err)
	}
	var results []bson.Raw
	if err := cur.All(ctx, &results); err != nil {
		return nil, failed(err)
	}
	if len(results) != 1 {
		return nil, fmt.Errorf("catalog: search: %d results of $facet", len(results))
	}
	return page[D](c, results[0], len(facets))
}

// stages returns the stages that count by a facet.
func (f Facet) stages() bson.A {
	if len(f.Bounds) > 0 {
		return bson.A{bson.D{{"$bucket", bson.D{
			{"groupBy", "$" + f.Path},
			{"boundaries", f.Bounds},
			{"default", Other},
			{"output", bson.D{{"n", bson.D{{"$sum", int64(1)}}}}},
		}}}}
	}
	limit := f.Limit
	if limit <= 0 {
		limit = DefaultCounts
	}
	return bson.A{
		bson.D{{"$unwind", "$" + f.Path}}, // products without a value are not counted
		bson.D{{"$group", bson.D{{"_id", "$" + f.Path}, {"n", bson.D{{"$sum", int64(1)}}}}}},
		bson.D{{"$sort", bson.D{{"n", -1}, {"_id", 1}}}},
		bson.D{{"$limit", limit}},
	}
}

func page[D Details](c *Catalog, result bson.Raw, facets int) (out *Page[D], err error) {
	var head struct {
		Products []bson.Raw
		Total    []Count
	}
	if err := bson.Unmarshal(result, &head); err != nil {
		return nil, fmt.Errorf("catalog: search: %w", err)
	}
	out = &Page[D]{Counts: make([][]Count, facets)}
	if len(head.Total) > 0 {
		out.Total = head.Total[0].N
	}
	for i := range facets {
		if err := result.Lookup(fmt.Sprint("f", i)).Unmarshal(&out.Counts[i]); err != nil {
			return nil, fmt.Errorf("catalog: search: %w", err)
		}
	}
	out.Products, err = decodeAll[D](c, head.Products)
	return out, err
}
