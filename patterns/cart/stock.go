package cart

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns/internal/carts"
)

// Stock is the stock of a product.
type Stock struct {
	SKU string `bson:"_id"`
	// Stock is the sum of Quantity, the reserved quantities, and Sold.
	Stock        int64         `bson:"stock"`
	Quantity     int64         `bson:"quantity"`
	Sold         int64         `bson:"sold"`
	Reservations []Reservation `bson:"reservations"`
}

// Reservation is the reservation for a line of a cart.
type Reservation struct {
	ID       bson.ObjectID `bson:"_id"`
	Cart     string        `bson:"cart"`
	Quantity int64         `bson:"quantity"`
	Rev      int64         `bson:"rev"`
	At       time.Time     `bson:"at"`
}

// Stock returns the stock of a product, or ErrNotFound.
func (s *Shop) Stock(ctx context.Context, sku string) (*Stock, error) {
	return carts.ByID[Stock](ctx, errs, s.inventories, sku)
}

// Adjust adds n pieces to the stock of a product. If n is negative, it removes pieces that are
// neither reserved nor sold. It creates a product that does not exist. Adjust cannot tell a
// repeated call from a new one: a program that gets no reply must read the stock before it calls
// Adjust again.
func (s *Shop) Adjust(ctx context.Context, sku string, n int64) error {
	if n > MaxQuantity*MaxReservations || n < -MaxQuantity*MaxReservations {
		return fmt.Errorf("%w: %d", ErrQuantity, n)
	}
	filter := bson.D{{"_id", sku}}
	if n < 0 {
		filter = append(filter, bson.E{"quantity", bson.D{{"$gte", -n}}})
	}
	change := bson.D{{"$inc", bson.D{{"stock", n}, {"quantity", n}}}}
	if n >= 0 {
		fresh := bson.D{{"sold", int64(0)}, {"reservations", bson.A{}}}
		change = append(change, bson.E{"$setOnInsert", fresh})
	}
	res, err := s.inventories.UpdateOne(ctx, filter, change, options.UpdateOne().SetUpsert(n >= 0))
	if err != nil {
		return errs.Wrap(err, "adjust the stock of %s", sku)
	}
	if res.MatchedCount == 0 && res.UpsertedCount == 0 {
		return ErrInsufficientStock
	}
	return nil
}

// mine and others are expressions for the reservation of one line, and for all other reservations
// of the product.
func mine(hold bson.ObjectID) bson.D {
	return bson.D{{"$filter", bson.D{
		{"input", "$reservations"}, {"cond", bson.D{{"$eq", bson.A{"$$this._id", hold}}}},
	}}}
}

func others(hold bson.ObjectID) bson.D {
	return bson.D{{"$filter", bson.D{
		{"input", "$reservations"}, {"cond", bson.D{{"$ne", bson.A{"$$this._id", hold}}}},
	}}}
}

// sum is an expression for the sum of a field over the reservations of a line. It is zero if the
// line has no reservation.
func sum(hold bson.ObjectID, field string) bson.D {
	return bson.D{{"$sum", bson.D{{"$map", bson.D{
		{"input", mine(hold)}, {"in", "$$this." + field},
	}}}}}
}

// way is a function that returns the update of the stock for a line of a cart. The filter of the
// update has the condition under which the stock may change.
type way func(*Cart, Line) mongo.WriteModel

// reserve sets the reservation of a line to the quantity of the line. Its condition: the stock has
// enough, and no later revision of the cart has made the reservation. The update reads all
// reservations of the product several times and rewrites them. reserveNew and reserveSame cost less
// and cover most cases.
func (s *Shop) reserve(c *Cart, l Line) mongo.WriteModel {
	all := bson.D{{"$add", bson.A{"$quantity", sum(l.Hold, "quantity")}}}
	can := bson.D{{"_id", l.SKU}, {"$expr", bson.D{{"$and", bson.A{
		bson.D{{"$gte", bson.A{all, l.Quantity}}},
		bson.D{{"$lte", bson.A{sum(l.Hold, "rev"), c.Rev}}},
		bson.D{{"$lt", bson.A{bson.D{{"$size", others(l.Hold)}}, MaxReservations}}},
	}}}}}
	return mongo.NewUpdateOneModel().SetFilter(can).SetUpdate(mongo.Pipeline{{{"$set", bson.D{
		{"quantity", bson.D{{"$subtract", bson.A{all, l.Quantity}}}},
		{"reservations", bson.D{{"$concatArrays", bson.A{
			others(l.Hold), bson.A{bson.D{{"$literal", s.reservation(c, l)}}},
		}}}},
	}}}})
}

func (s *Shop) reservation(c *Cart, l Line) Reservation {
	return Reservation{ID: l.Hold, Cart: c.ID, Quantity: l.Quantity, Rev: c.Rev, At: s.env.Now()}
}

// reserveNew reserves the pieces of a line that has no reservation yet.
func (s *Shop) reserveNew(c *Cart, l Line) mongo.WriteModel {
	can := bson.D{
		{"_id", l.SKU},
		{"quantity", bson.D{{"$gte", l.Quantity}}},
		{fmt.Sprintf("reservations.%d", MaxReservations-1), bson.D{{"$exists", false}}},
		{"reservations._id", bson.D{{"$ne", l.Hold}}},
	}
	return mongo.NewUpdateOneModel().SetFilter(can).SetUpdate(bson.D{
		{"$inc", bson.D{{"quantity", -l.Quantity}}}, {"$push", bson.D{{"reservations", s.reservation(c, l)}}},
	})
}

// reserveSame confirms a reservation that already has the quantity of the line. The time of the
// reservation stays, so that the oldest reservation remains the first.
func (*Shop) reserveSame(c *Cart, l Line) mongo.WriteModel {
	return mongo.NewUpdateOneModel().SetFilter(exactly(c, l)).
		SetUpdate(bson.D{{"$set", bson.D{{"reservations.$.rev", c.Rev}}}})
}

// exactly selects the product of a line if its reservation has the quantity of the line, and was
// not made by a later revision than c.
func exactly(c *Cart, l Line) bson.D {
	this := bson.D{
		{"_id", l.Hold}, {"cart", c.ID}, {"quantity", l.Quantity}, {"rev", bson.D{{"$lte", c.Rev}}},
	}
	return bson.D{{"_id", l.SKU}, {"reservations", bson.D{{"$elemMatch", this}}}}
}

// free ends the reservation of a line, unless a later revision than c has made it.
func (*Shop) free(c *Cart, l Line) mongo.WriteModel { return taken(c, l, "quantity") }

// sell counts the reserved pieces of a line as sold.
func (*Shop) sell(c *Cart, l Line) mongo.WriteModel { return taken(c, l, "sold") }

// freeSame and sellSame do the same as free and sell, for a reservation that has the quantity of
// the line.
func (*Shop) freeSame(c *Cart, l Line) mongo.WriteModel { return takenSame(c, l, "quantity") }
func (*Shop) sellSame(c *Cart, l Line) mongo.WriteModel { return takenSame(c, l, "sold") }

// taken ends a reservation and adds its quantity to field, unless a later revision than c has made
// the reservation.
func taken(c *Cart, l Line, field string) mongo.WriteModel {
	exactly := bson.D{{"_id", l.Hold}, {"cart", c.ID}, {"rev", bson.D{{"$lte", c.Rev}}}}
	reserved := bson.D{{"_id", l.SKU}, {"reservations", bson.D{{"$elemMatch", exactly}}}}
	return mongo.NewUpdateOneModel().SetFilter(reserved).SetUpdate(mongo.Pipeline{{{"$set", bson.D{
		{field, bson.D{{"$add", bson.A{"$" + field, sum(l.Hold, "quantity")}}}},
		{"reservations", others(l.Hold)},
	}}}})
}

func takenSame(c *Cart, l Line, field string) mongo.WriteModel {
	return mongo.NewUpdateOneModel().SetFilter(exactly(c, l)).SetUpdate(bson.D{
		{"$inc", bson.D{{field, l.Quantity}}}, {"$pull", bson.D{{"reservations", bson.D{{"_id", l.Hold}}}}},
	})
}

// changeBy updates the stock of lines with the updates of quick. If some lines do not match, a
// second command applies the slower updates of the parameter any to all lines; a line that was
// already changed is not changed again. It returns how many lines matched.
func (s *Shop) changeBy(ctx context.Context, c *Cart, lines []Line, quick, any way) (int, error) {
	if n, err := s.change(ctx, c, lines, quick); n == len(lines) || err != nil {
		return n, err
	}
	return s.change(ctx, c, lines, any)
}

// change updates the stock of lines in one command and returns how many lines matched.
func (s *Shop) change(ctx context.Context, c *Cart, lines []Line, model way) (int, error) {
	if len(lines) == 0 {
		return 0, nil
	}
	models := make([]mongo.WriteModel, len(lines))
	for i, l := range lines {
		models[i] = model(c, l)
	}
	res, err := s.inventories.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return 0, errs.Wrap(err, "change the stock of %d products", len(lines))
	}
	return int(res.MatchedCount), nil
}
