package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	products  = 1000
	cartItems = 5
	// plenty is a stock or a balance that the load cannot use up.
	plenty = int64(1) << 40
)

func inventory(i int) bson.D {
	return bson.D{{"_id", int64(i)}, {"quantity", plenty}, {"reservations", bson.A{}}}
}

// basket chooses different products for a cart.
func basket(w *worker) [cartItems]int64 {
	first := w.rng.Int64N(products)
	var b [cartItems]int64
	for i := range b {
		b[i] = (first + int64(i)*199) % products
	}
	return b
}

func cartProduct(id int64) bson.D {
	return bson.D{{"_id", id}, {"quantity", int64(1)}, {"name", fmt.Sprintf("product %d", id)}, {"price", id % 100}}
}

func cartOrder(cart int64, b [cartItems]int64) bson.D {
	var list bson.A
	for _, id := range b {
		list = append(list, cartProduct(id))
	}
	return bson.D{{"_id", cart}, {"shipping", "by post"}, {"products", list}}
}

// shop holds the collections of a shop.
type shop struct {
	carts, inventories, orders *mongo.Collection
}

// add puts a product into a cart. It creates a missing cart.
func (s *shop) add(ctx context.Context, cart, product, now int64) error {
	update := bson.D{{"$set", field("modifiedOn", now)}, {"$push", field("products", cartProduct(product))}}
	_, err := s.carts.UpdateOne(ctx, bson.D{{"_id", cart}, {"state", "active"}}, update,
		options.UpdateOne().SetUpsert(true))
	return err
}

// reserve takes one piece of a product from the stock, and adds it to the reservations of a cart.
func (s *shop) reserve(ctx context.Context, cart, product, now int64) error {
	reservation := bson.D{{"_id", cart}, {"quantity", int64(1)}, {"createdOn", now}}
	return changeOne(ctx, s.inventories, bson.D{{"_id", product}, {"quantity", field("$gte", int64(1))}},
		bson.D{{"$inc", field("quantity", int64(-1))}, {"$push", field("reservations", reservation)}})
}

// checkOut turns a cart into an order and removes its reservations.
func (s *shop) checkOut(ctx context.Context, cart int64, b [cartItems]int64) error {
	if _, err := s.orders.InsertOne(ctx, cartOrder(cart, b)); err != nil {
		return err
	}
	active := bson.D{{"_id", cart}, {"state", "active"}}
	if err := changeOne(ctx, s.carts, active, field("$set", field("state", "complete"))); err != nil {
		return err
	}
	r, err := s.inventories.UpdateMany(ctx, field("reservations._id", cart),
		field("$pull", field("reservations", field("_id", cart))))
	if err == nil && r.ModifiedCount != cartItems {
		return fmt.Errorf("%d reservations ended", r.ModifiedCount)
	}
	return err
}

// cartByHand fills a cart and checks it out. If reserved is true, it reserves each product when it
// adds the product. Otherwise it reserves all products at the end.
func cartByHand(reserved bool) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		s := shop{db.Collection("carts"), db.Collection("inventories"), db.Collection("orders")}
		if err := indexOn(ctx, s.carts, field("state", 1)); err != nil {
			return nil, err
		}
		if err := indexOn(ctx, s.inventories, field("reservations._id", 1)); err != nil {
			return nil, err
		}
		return repeat(func(ctx context.Context, w *worker) error {
			id, b := w.ids.Add(1), basket(w)
			return inSteps(reserved, b, func(product int64) error { return s.add(ctx, id, product, id) },
				func(product int64) error { return s.reserve(ctx, id, product, id) },
				func() error { return s.checkOut(ctx, id, b) })
		}), fill(ctx, s.inventories, products, inventory)
	}
}

// inSteps adds and reserves the products, and then checks out. If reserved is true, it reserves
// each product directly after it has added the product. Otherwise it reserves the products after it
// has added all.
func inSteps(reserved bool, b [cartItems]int64, add, reserve func(product int64) error, checkOut func() error) error {
	for _, product := range b {
		if err := add(product); err != nil {
			return err
		}
		if reserved {
			if err := reserve(product); err != nil {
				return err
			}
		}
	}
	if !reserved {
		for _, product := range b {
			if err := reserve(product); err != nil {
				return err
			}
		}
	}
	return checkOut()
}

const (
	pgCartAdd = `insert into carts values ($1, jsonb_build_object('state', 'active', 'modifiedOn', $3::bigint, 'products', jsonb_build_array($2::jsonb)))
		on conflict (id) do update set doc = carts.doc || jsonb_build_object('modifiedOn', $3::bigint, 'products', carts.doc->'products' || $2::jsonb)
		where carts.doc->>'state' = 'active'`
	pgReserve = `update inventories set doc = doc || jsonb_build_object('quantity', (doc->>'quantity')::bigint - 1, 'reservations',
		doc->'reservations' || jsonb_build_object('_id', $2::bigint, 'quantity', 1, 'createdOn', $2::bigint))
		where id = $1 and (doc->>'quantity')::bigint >= 1`
	pgComplete = `update carts set doc = jsonb_set(doc, '{state}', '"complete"') where id = $1 and doc->>'state' = 'active'`
	pgRelease  = `update inventories set doc = jsonb_set(doc, '{reservations}',
		(select coalesce(jsonb_agg(r), '[]') from jsonb_array_elements(doc->'reservations') r where r->'_id' <> to_jsonb($1::bigint)))
		where doc->'reservations' @> jsonb_build_array(jsonb_build_object('_id', $1::bigint))`
)

func pgCart(reserved bool) postgresPattern {
	return func(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
		if err := pgTable(ctx, pool, "carts", "bigint", "((doc->>'state'))"); err != nil {
			return nil, err
		}
		if err := pgTable(ctx, pool, "inventories", "bigint",
			"using gin ((doc->'reservations') jsonb_path_ops)"); err != nil {
			return nil, err
		}
		if err := pgTable(ctx, pool, "orders", "bigint"); err != nil {
			return nil, err
		}
		return repeat(func(ctx context.Context, w *worker) error {
			id, b := w.ids.Add(1), basket(w)
			return inSteps(reserved, b, func(product int64) error {
				text, err := asJSON(cartProduct(product))
				if err != nil {
					return err
				}
				return pgChange(ctx, pool, pgCartAdd, id, text, id)
			}, func(product int64) error { return pgChange(ctx, pool, pgReserve, product, id) },
				func() error { return pgCheckOut(ctx, pool, id, b) })
		}), pgFill(ctx, pool, "inventories", products, inventory)
	}
}

func pgCheckOut(ctx context.Context, pool *pgxpool.Pool, cart int64, b [cartItems]int64) error {
	text, err := asJSON(cartOrder(cart, b)[1:])
	if err != nil {
		return err
	}
	if err := pgChange(ctx, pool, "insert into orders values ($1, $2)", cart, text); err != nil {
		return err
	}
	if err := pgChange(ctx, pool, pgComplete, cart); err != nil {
		return err
	}
	tag, err := pool.Exec(ctx, pgRelease, cart)
	if err == nil && tag.RowsAffected() != cartItems {
		return fmt.Errorf("%d reservations ended", tag.RowsAffected())
	}
	return err
}

const (
	accounts = 10_000
	amount   = int64(3)
)

func account(i int) bson.D {
	return bson.D{{"_id", int64(i)}, {"balance", plenty}, {"txns", bson.A{}}}
}

// pair chooses two different accounts.
func pair(w *worker) (from, to int64) {
	from = w.rng.Int64N(accounts)
	return from, (from + 1 + w.rng.Int64N(accounts-1)) % accounts
}

// transferBySteps moves an amount without a transaction. It records its progress in the documents,
// so that another process could complete or undo the transfer.
func transferBySteps(ctx context.Context, db *mongo.Database) (*routine, error) {
	acc, txns := db.Collection("accounts"), db.Collection("transactions")
	move := func(ctx context.Context, account, txn, by int64) error {
		filter := bson.D{{"_id", account}, {"txns", field("$ne", txn)}}
		return changeOne(ctx, acc, filter, bson.D{{"$inc", field("balance", by)}, {"$push", field("txns", txn)}})
	}
	retire := func(ctx context.Context, account, txn int64) error {
		return changeOne(ctx, acc, field("_id", account), field("$pull", field("txns", txn)))
	}
	do := func(ctx context.Context, w *worker) error {
		from, to := pair(w)
		txn := w.ids.Add(1)
		doc := bson.D{{"_id", txn}, {"state", "new"}, {"src", from}, {"dst", to}, {"amt", amount}}
		if _, err := txns.InsertOne(ctx, doc); err != nil {
			return err
		}
		if err := move(ctx, from, txn, -amount); err != nil {
			return err
		}
		if err := move(ctx, to, txn, amount); err != nil {
			return err
		}
		if err := changeOne(ctx, txns, bson.D{{"_id", txn}, {"state", "new"}},
			field("$set", field("state", "commit"))); err != nil {
			return err
		}
		if err := retire(ctx, from, txn); err != nil {
			return err
		}
		if err := retire(ctx, to, txn); err != nil {
			return err
		}
		_, err := txns.DeleteOne(ctx, field("_id", txn))
		return err
	}
	return repeat(do), fill(ctx, acc, accounts, account)
}

// transferInTransaction moves an amount in a transaction.
func transferInTransaction(ctx context.Context, db *mongo.Database) (*routine, error) {
	acc := db.Collection("accounts")
	return repeat(func(ctx context.Context, w *worker) error {
		from, to := pair(w)
		session, err := db.Client().StartSession()
		if err != nil {
			return err
		}
		defer session.EndSession(ctx)
		_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
			if err := changeOne(ctx, acc, field("_id", from), field("$inc", field("balance", -amount))); err != nil {
				return nil, err
			}
			return nil, changeOne(ctx, acc, field("_id", to), field("$inc", field("balance", amount)))
		})
		return err
	}), fill(ctx, acc, accounts, account)
}

// twoUpdates runs the updates of transferInTransaction without a transaction.
func twoUpdates(ctx context.Context, db *mongo.Database) (*routine, error) {
	acc := db.Collection("accounts")
	return repeat(func(ctx context.Context, w *worker) error {
		from, to := pair(w)
		if err := changeOne(ctx, acc, field("_id", from), field("$inc", field("balance", -amount))); err != nil {
			return err
		}
		return changeOne(ctx, acc, field("_id", to), field("$inc", field("balance", amount)))
	}), fill(ctx, acc, accounts, account)
}

const pgMove = "update accounts set doc = jsonb_set(doc, '{balance}', to_jsonb((doc->>'balance')::bigint + $2::bigint)) where id = $1"

// pgAccounts creates and fills the table of accounts.
func pgAccounts(ctx context.Context, pool *pgxpool.Pool) error {
	if err := pgTable(ctx, pool, "accounts", "bigint"); err != nil {
		return err
	}
	return pgFill(ctx, pool, "accounts", accounts, account)
}

// pgTransfer moves an amount in a transaction. It updates the accounts in the order of their
// numbers, which rules out deadlocks.
func pgTransfer(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	return repeat(func(ctx context.Context, w *worker) error {
		from, to := pair(w)
		by := -amount
		if from > to {
			from, to, by = to, from, amount
		}
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, pgMove, from, by); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, pgMove, to, -by)
			return err
		})
	}), pgAccounts(ctx, pool)
}

func pgTwoUpdates(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	return repeat(func(ctx context.Context, w *worker) error {
		from, to := pair(w)
		if err := pgChange(ctx, pool, pgMove, from, -amount); err != nil {
			return err
		}
		return pgChange(ctx, pool, pgMove, to, amount)
	}), pgAccounts(ctx, pool)
}
