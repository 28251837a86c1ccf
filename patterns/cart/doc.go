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
//	              lines: [{hold: ObjectId("…"), sku: "111445GB3", name: "Simsong Mobile", price: NumberLong(100000), quantity: NumberLong(1)}]}
//	orders:      {_id: "c7", created: …, lines: […], total: NumberLong(100000), shipping: {…}, payment: {…}}
//	indexes:     carts {deadline: 1}, partial; inventories {"reservations.0.at": 1}, sparse
//
// Of each product stock = quantity + what is reserved + sold, at every moment. A line has the price
// of the time when it was added, and the order that of the line: a later price changes neither. rev
// counts the changes of a cart; a reservation has that of the change that made it, and is not
// changed by earlier ones.
//
// # States of a cart
//
//	active ──> paying ──> done
//	  │  └<──────┘
//	  ├──> canceled
//	  └──> expired
//
// The change of a cart's state is what decides; the stock follows. A cart has a deadline as long as
// there is something to do.
//
// # Operations
//
//	Add           1 update of the cart, made if need be (2 where the product is in it already); OnAdd 1 update of the stock
//	SetQuantity   1 findAndModify of the cart; OnAdd 1 update of the stock. Where there is not enough, 1 more find and update
//	Remove        1 findAndModify of the cart, 1 update of the stock
//	Checkout      1 findAndModify of the cart, 1 update command for all its products, the payment, 1 findAndModify of the cart; then
//	              1 insert of the order, 1 update command for all products, 1 update of the cart
//	Cancel        1 findAndModify of the cart, 1 update command for all products, 1 update of the cart; so does a cart that expires
//	Adjust        1 update of the stock
//
// The stock takes a second command where it is not what the cart expects: there is not enough, the
// quantity of a line was changed, or another process was at it before. The first looks for one
// reservation, and appends or removes it; the second computes all of them anew, whatever they are.
//
// # Guarantees
//
//   - quantity is never negative: nothing is sold, or reserved, twice.
//   - An order has the id of its cart: a cart is checked out once. What it has was reserved while
//     it was paid.
//   - What is reserved comes back when the cart is given up or expires, once Repair or Run look at
//     it.
//   - A process that was asleep between two steps changes nothing that was decided meanwhile. What
//     it reserves for a cart that does not name it is never sold, and freed by Repair.
//   - A cart has at most MaxLines lines, a product at most MaxReservations reservations at a time.
//
// # After a crash
//
//	Add, SetQuantity, Remove     behind the cart, before the stock: too little or too much is reserved for a line. The next change of the
//	                             line, the checkout, or the expiry mends it
//	Checkout, to the payment     nobody can say whether the cart is paid: Repair asks Config.Paid when Config.Timeout is over, and gives
//	                             the cart back to the customer if it is not, or if there is no such function
//	Checkout, behind it          what was decided is done: Repair writes the order and sells what was reserved
//	Cancel, expiry               what was decided is done: Repair gives back what is reserved
//	Adjust                       one write: it has happened or not
//
// The cart is changed before the stock, always. What two processes leave who change one line at
// once is what a crash leaves, and is mended in the same way.
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
