package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// These are the numbers of sessions, rows and seats. Seats are sold in blocks of adjacent seats.
const (
	sessions      = 4000
	seatRows      = 5
	seatsInRow    = 16
	seatsTogether = 5
	blocksInRow   = seatsInRow / seatsTogether
	blocks        = seatRows * blocksInRow
)

func emptySession(i int) bson.D {
	rows := make(bson.A, seatRows)
	for r := range rows {
		row := make(bson.A, seatsInRow)
		for s := range row {
			row[s] = int32(0)
		}
		rows[r] = row
	}
	return bson.D{
		{"_id", int64(i)},
		{"name", "Action Movie 5"},
		{"price", int32(10)},
		{"seatsAvailable", int32(seatRows * seatsInRow)},
		{"seats", rows},
		{"reservations", bson.A{}},
	}
}

// nextSeats returns the next block of seats to sell: a number for the cart, the session, the row
// and the first seat.
func nextSeats(w *worker) (cart, session int64, row, first int, err error) {
	n := w.ids.Add(1) - 1
	if n >= sessions*blocks {
		return 0, 0, 0, 0, fmt.Errorf("all %d seats are sold: measure a shorter time", sessions*blocks*seatsTogether)
	}
	block := int(n % blocks)
	return n, n / blocks, block / blocksInRow, block % blocksInRow * seatsTogether, nil
}

func theaterCart(id int64) bson.D {
	return bson.D{{"_id", id}, {"state", "active"}, {"total", int32(0)}, {"reservations", bson.A{}}}
}

// reservation returns a reservation in the form in which both the session and the cart store it.
func reservation(key string, id int64, row, first int) bson.D {
	var seats bson.A
	for s := first; s < first+seatsTogether; s++ {
		seats = append(seats, bson.A{int32(row), int32(s)})
	}
	return bson.D{{key, id}, {"seats", seats}, {"price", int32(10)}, {"total", int32(10 * seatsTogether)}}
}

func theater(ctx context.Context, db *mongo.Database) (*routine, error) {
	c, carts := db.Collection("sessions"), db.Collection("carts")
	if err := indexOn(ctx, c, field("reservations._id", 1)); err != nil {
		return nil, err
	}
	if err := indexOn(ctx, carts, field("state", 1)); err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		id, session, row, first, err := nextSeats(w)
		if err != nil {
			return err
		}
		if _, err := carts.InsertOne(ctx, theaterCart(id)); err != nil {
			return err
		}
		filter, taken := field("_id", session), bson.D{}
		for s := first; s < first+seatsTogether; s++ {
			path := fmt.Sprintf("seats.%d.%d", row, s)
			filter, taken = append(filter, bson.E{path, int32(0)}), append(taken, bson.E{path, int32(1)})
		}
		err = changeOne(ctx, c, filter, bson.D{
			{"$set", taken},
			{"$inc", field("seatsAvailable", int32(-seatsTogether))},
			{"$push", field("reservations", reservation("_id", id, row, first))},
		})
		if err != nil {
			return err
		}
		return changeOne(ctx, carts, field("_id", id), bson.D{
			{"$push", field("reservations", reservation("sessionId", session, row, first))},
			{"$inc", field("total", int32(10*seatsTogether))},
			{"$set", field("modifiedOn", id)},
		})
	}), fill(ctx, c, sessions, emptySession)
}

// pgTakeSeats returns the statement that takes seats $3 to $3 + 4 of row $2 in a session.
func pgTakeSeats() string {
	doc, free := "doc", make([]string, 0, seatsTogether)
	for s := range seatsTogether {
		path := fmt.Sprintf("array['seats', $2::int::text, ($3::int + %d)::text]", s)
		doc = fmt.Sprintf("jsonb_set(%s, %s, '1')", doc, path)
		free = append(free, fmt.Sprintf("doc#>>%s = '0'", path))
	}
	return fmt.Sprintf(`update sessions set doc = %s || jsonb_build_object('seatsAvailable', (doc->>'seatsAvailable')::int - %d,
		'reservations', doc->'reservations' || $4::jsonb) where id = $1 and %s`, doc, seatsTogether, strings.Join(free, " and "))
}

func pgTheater(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	if err := pgTable(ctx, pool, "sessions", "bigint", "using gin ((doc->'reservations') jsonb_path_ops)"); err != nil {
		return nil, err
	}
	if err := pgTable(ctx, pool, "carts", "bigint", "((doc->>'state'))"); err != nil {
		return nil, err
	}
	const addToCart = `update carts set doc = doc || jsonb_build_object('total', (doc->>'total')::int + 50, 'modifiedOn', $1::bigint,
		'reservations', doc->'reservations' || $2::jsonb) where id = $1`
	take := pgTakeSeats()
	return repeat(func(ctx context.Context, w *worker) error {
		id, session, row, first, err := nextSeats(w)
		if err != nil {
			return err
		}
		texts := make([][]byte, 3)
		for i, doc := range []bson.D{
			theaterCart(id)[1:], reservation("_id", id, row, first),
			reservation("sessionId", session, row, first),
		} {
			if texts[i], err = asJSON(doc); err != nil {
				return err
			}
		}
		if err := pgChange(ctx, pool, "insert into carts values ($1, $2)", id, texts[0]); err != nil {
			return err
		}
		if err := pgChange(ctx, pool, take, session, row, first, texts[1]); err != nil {
			return err
		}
		return pgChange(ctx, pool, addToCart, id, texts[2])
	}), pgFill(ctx, pool, "sessions", sessions, emptySession)
}
