// Package cart keeps shopping carts and the stock for them. A reserved piece is not sold to
// somebody else, and a cart that is left gives its pieces back.
//
//	shop, err := cart.New(db, cart.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := errors.Join(shop.EnsureIndexes(ctx), shop.Adjust(ctx, "lamp", 1)); err != nil {
//		log.Fatal(err)
//	}
//	lamp := cart.Item{SKU: "lamp", Name: "Desk lamp", Price: 39_90}
//	if err := shop.Add(ctx, "anna", lamp, 1); err != nil {
//		log.Fatal(err)
//	}
//	err = shop.Add(ctx, "joe", lamp, 1)
//	fmt.Println("Joe is late:", errors.Is(err, cart.ErrInsufficientStock))
//
// # The problem
//
// Two customers want the last piece. One of them leaves the shop without a word, with the piece in
// the cart. A payment fails, or the process dies while it is made. Prices change between cart and
// invoice. Stock is changed by every one of these, and must be right after all.
//
// When not to use it: for goods without a stock, such as downloads. An order is enough.
//
// # Two designs, one interface
//
//	                        Config.Reserve = OnAdd                     Config.Reserve = AtCheckout
//	stock is reserved       when something is put into the cart        when the customer pays
//	the customer learns     at once that it is gone                    at the end
//	carts that are left     keep stock until they expire               keep nothing
//	commands to add         1 of the cart, 1 of the stock              1 of the cart
//	time of five products   10                                         6
//	choose it for           rare and dear things                       everything else; above all what many want at once
//
// OnAdd is the design of both books, which differ in names only once their mistakes are mended;
// AtCheckout is the second one of the Little book. A checkout is the same in both: it reserves what
// is not reserved yet. The documents are the same too, so that a shop may change its mind.
//
// # The documents
//
//	inventories: {_id: "111445GB3", stock: NumberLong(1000), quantity: NumberLong(998), sold: NumberLong(1),
//	              reservations: [{_id: ObjectId("…"), cart: "c7", quantity: NumberLong(1), rev: NumberLong(3), at: …}]}
//	carts:       {_id: "c7", state: "active", rev: NumberLong(3), created: …, modified: …, deadline: …,
//	              lines: [{hold: ObjectId("…"), sku: "111445GB3", name: "Simsong Mobile",
//	                       price: NumberLong(100000), quantity: NumberLong(1)}]}
//	orders:      {_id: "c7", created: …, lines: […], total: NumberLong(100000), shipping: {…}, payment: {…}}
//	indexes:     carts {deadline: 1}, partial; inventories {"reservations.0.at": 1}, sparse
//
// For each product, stock is at every moment the sum of quantity, the reserved quantities, and
// sold. A line keeps the price of the time when it was added, and the order keeps the price of the
// line: a later price changes neither. rev counts the changes of a cart. A reservation has the rev
// of the change that made it, and earlier changes do not touch it.
//
// # States of a cart
//
//	active ──> paying ──> done
//	  │  └<──────┘
//	  ├──> canceled
//	  └──> expired
//
// The update that changes a cart's state decides, and the stock follows. A cart has a deadline
// while something is left to do.
//
// # Operations
//
//	Add           1 update of the cart, which makes it if needed (2 if the product is in it already);
//	              with OnAdd, 1 update of the stock
//	SetQuantity   1 findAndModify of the cart; with OnAdd, 1 update of the stock, and if there is not enough,
//	              1 more find and update
//	Remove        1 findAndModify of the cart, 1 update of the stock
//	Checkout      1 findAndModify of the cart, 1 update command for all its products, the payment,
//	              1 findAndModify of the cart; then 1 insert of the order, 1 update command for all products,
//	              1 update of the cart
//	Cancel        1 findAndModify of the cart, 1 update command for all products, 1 update of the cart;
//	              so does a cart that expires
//	Adjust        1 update of the stock
//
// The stock takes a second command if it differs from the cart: there is not enough, the quantity
// of a line was changed, or another process was faster. The first command looks for one
// reservation, and appends or removes it. The second command computes all reservations of the
// product anew.
//
// # Guarantees
//
//   - quantity is never negative: no piece is sold, or reserved, twice.
//   - An order has the _id of its cart: a cart is checked out once. All pieces of an order were
//     reserved during the payment.
//   - Reserved pieces come back when the cart is canceled or expires, at the next Repair, or while
//     Run runs.
//   - A process that was asleep between two steps cannot change a later decision. If it reserves
//     pieces for a cart that does not name them, nobody buys these pieces, and Repair frees them.
//   - A cart has at most MaxLines lines, a product at most MaxReservations reservations at a time.
//
// # After a crash
//
//	Add, SetQuantity, Remove    after the cart, before the stock: the reservation of a line is too small or too
//	                            large. The next change of the line, the checkout, or the expiry mends it
//	Checkout, to the payment    nobody can say whether the cart is paid: Repair asks Config.Paid after
//	                            Config.Timeout. The cart is active again if it is not paid, or if there is no
//	                            such function
//	Checkout, after it          the cart is sold: Repair writes the order and sells the reserved pieces
//	Cancel, expiry              the cart has ended: Repair gives back the reserved pieces
//	Adjust                      one write: it has happened or not
//
// Each operation changes the cart before the stock. Two processes that change one line at once can
// leave the same as a crash, and it is mended in the same way.
//
// # Scaling
//
// Shard inventories, carts and orders by {_id: "hashed"}, and give carts random names (NewID).
// Stock is read from the primary. All buyers of a product write one document, once per checkout.
//
// # Source
//
// "MongoDB Applied Design Patterns", chapter 5 (S18), and "The Little MongoDB Schema Design Book",
// shopping cart with (S19) and without (S20) reservation; "50 Tips and Tricks", tip 1 (S40: an
// order keeps the prices of its time). The books' listings reserve for one cart what another one of
// the same user had, write status and read state, take stock from the wrong collection, and pull
// reservations from the wrong level. Their clean-up gives back what a slow checkout goes on to
// sell. A quantity that is changed twice at once ends up reserved as the slower one says. Neither
// book says what happens to a payment when the process dies.
package cart
