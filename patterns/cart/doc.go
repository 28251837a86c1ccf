// Package cart keeps shopping carts and the stock of their products. A reserved piece is not sold
// to another customer. The pieces of an abandoned cart go back to the stock.
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
// the cart. A payment fails, or the process dies during the payment. The price of a product changes
// between cart and invoice. Each of these events changes the stock, and the stock must be right in
// the end.
//
// When not to use it: for goods without a stock, such as downloads. There, an order is enough.
//
// # Two designs, one interface
//
//	                        Config.Reserve = OnAdd                     Config.Reserve = AtCheckout
//	stock is reserved       when a product is put into the cart        when the customer pays
//	a sold-out product      is refused at once                         is refused at the checkout
//	abandoned carts         keep stock until they expire               keep no stock
//	commands to add         1 of the cart, 1 of the stock              1 of the cart
//	five products bought    1.0 ms (BenchmarkCart)                     0.8 ms
//	choose it for           rare and expensive products                all others, above all very popular products
//
// OnAdd is the design of both books. AtCheckout is the second design of the Little book. A checkout
// is the same in both designs: it reserves the products that are not reserved yet. The documents
// are the same too, so that a shop can change its policy.
//
// # The documents
//
//	inventories: {_id: "111445GB3", stock: NumberLong(1000), quantity: NumberLong(998), sold: NumberLong(1),
//	              reservations: [{_id: ObjectId("…"), cart: "c7", quantity: NumberLong(1),
//	                              rev: NumberLong(3), at: …}]}
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
// The checkout and the other operations need a second command for the stock if the stock does not
// fit the cart: the stock has too little, the quantity of a line has changed, or another process
// was faster. The first command appends or removes one reservation. The second command computes all
// reservations of the product anew.
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
//	                            large. The next change of the line, the checkout, or the expiry repairs it
//	Checkout, until payment     nobody can say whether the cart is paid: Repair calls Config.Paid after
//	                            Config.Timeout. If the cart is not paid, or Config.Paid is nil, the cart is
//	                            active again
//	Checkout, after payment     the cart is sold: Repair writes the order and sells the reserved pieces
//	Cancel, expiry              the cart has ended: Repair gives back the reserved pieces
//	Adjust                      one write: it has happened or not
//
// Each operation changes the cart before the stock. Two processes that change one line at once can
// leave the same state as a crash. Repair and the later operations repair that state too.
//
// # Scaling
//
// Shard inventories, carts and orders by {_id: "hashed"}, and give carts random names (NewID).
// Stock is read from the primary. All buyers of a product update the same document, at least twice
// for each checkout.
//
// # Source
//
// The pattern is in "MongoDB Applied Design Patterns", chapter 5 (S18), and in "The Little MongoDB
// Schema Design Book", shopping cart with (S19) and without (S20) reservation. "50 Tips and
// Tricks", tip 1 (S40), says that an order keeps the prices of its time. The listings of the books
// have mistakes. They mix up the reservations of two carts of one user. They write a field named
// status and read a field named state. They read the stock from the wrong collection, and pull
// reservations from the wrong level. Their clean-up frees pieces that a slow checkout then sells.
// If two processes change a quantity at once, the reservation has the quantity of the slower one.
// Neither book says what happens to a payment when the process dies.
package cart
