package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// These constants are the numbers of different customers, statuses, articles and countries in
	// the orders.
	orderCustomers = 1000
	orderStatuses  = 20
	orderArticles  = 200
	orderCountries = 25
	// orderDays is the number of days over which the orders are spread: two years, one of which has
	// a leap day.
	orderDays = 731
	// orderNote is the length of the field note. It makes an order about 400 bytes of BSON long.
	orderNote = 100
)

// firstOrder is the time of the earliest order.
var firstOrder = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)

// orders describes the documents of the aggregation benchmark. Order i is the same in every run and
// on every side.
//
//	_id       i                         customer  one of 1,000, indexed
//	status    one of 20, indexed        created   within two years
//	items     1 to 5 of sku, qty, price
//	total     of the items              address, note  text
type orders struct{ size int }

type orderItem struct {
	SKU   string  `bson:"sku" json:"sku"`
	Qty   int32   `bson:"qty" json:"qty"`
	Price float64 `bson:"price" json:"price"`
}

type orderAddress struct {
	Street string `bson:"street" json:"street"`
	City   string `bson:"city" json:"city"`
	Zip    string `bson:"zip" json:"zip"`
}

type order struct {
	ID       int64        `bson:"_id" json:"-"`
	Customer int32        `bson:"customer" json:"customer"`
	Status   string       `bson:"status" json:"status"`
	Created  time.Time    `bson:"created" json:"created"`
	Items    []orderItem  `bson:"items" json:"items"`
	Total    float64      `bson:"total" json:"total"`
	Address  orderAddress `bson:"address" json:"address"`
	Note     string       `bson:"note" json:"note"`
}

type customer struct {
	ID      int32  `bson:"_id" json:"-"`
	Name    string `bson:"name" json:"name"`
	Country string `bson:"country" json:"country"`
}

// order returns order i. Prices are multiples of 0.25, so that floating-point sums are exact in any
// order of summation.
func (d orders) order(i int) order {
	rng := rand.New(rand.NewPCG(uint64(i), 3))
	o := order{
		ID: int64(i), Customer: int32(rng.IntN(orderCustomers)), Status: orderStatus(rng.IntN(orderStatuses)),
		Created: firstOrder.Add(time.Duration(rng.Int64N(orderDays*24*3600*1000)) * time.Millisecond),
		Address: orderAddress{
			Street: letters(rng, 16), City: letters(rng, 10),
			Zip: fmt.Sprintf("%05d", rng.IntN(100_000)),
		},
		Note: letters(rng, orderNote),
	}
	for range 1 + rng.IntN(5) {
		item := orderItem{
			SKU: fmt.Sprintf("sku-%03d", rng.IntN(orderArticles)), Qty: int32(1 + rng.IntN(9)),
			Price: float64(1+rng.IntN(4000)) / 4,
		}
		o.Items = append(o.Items, item)
		o.Total += float64(item.Qty) * item.Price
	}
	return o
}

func orderStatus(n int) string { return fmt.Sprintf("status%02d", n) }

// customer returns customer i.
func (d orders) customer(i int) customer {
	return customer{
		ID: int32(i), Name: fmt.Sprintf("customer %04d", i),
		Country: fmt.Sprintf("country%02d", i%orderCountries),
	}
}

func (d orders) bson(i int) (bson.Raw, error) { return bson.Marshal(d.order(i)) }

func (d orders) json(i int) ([]byte, error) { return json.Marshal(d.order(i)) }
