// Package seating sells seats. It holds several seats together or none, keeps them in a cart for a
// while, and never sells a seat twice.
//
//	house, err := seating.New(db, seating.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	err = errors.Join(house.EnsureIndexes(ctx), house.AddLayout(ctx, small), house.AddSession(ctx, macbeth))
//	if err != nil {
//		log.Fatal(err)
//	}
//	hold, err := house.HoldBest(ctx, "cart-7", "macbeth-1", 3, "B")
//	if err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// Many people look at the same plan and want the same seats, several of them at once, and for
// several shows in one cart. They may pay, give up, or just leave. A seat must have one owner at
// most, and none for long without being paid for, whoever dies in the middle.
//
// When not to use it: where places are only counted and have no numbers. A counter and a
// conditional $inc are enough.
//
// # The documents
//
//	layouts:  {_id: "small", name: "Small stage", plan: ["AAAA AAAA", "BBBBBBBBB", "BB"]}
//	sessions: {_id: "macbeth-1", layout: "small", name: "Macbeth", start: …, end: …, plan: […],
//	           prices: {A: NumberLong(5000), B: NumberLong(3000)},
//	           seats: [[0, 1, 1, 0, -1, 0, 0, 0, 0], […], [0, 0]], seatsAvailable: 17,
//	           reservations: [{_id: ObjectId("…"), cart: "c7", seats: [[0, 1], [0, 2]], total: NumberLong(10000), at: …}]}
//	carts:    {_id: "c7", state: "active", total: NumberLong(10000), holds: [{_id: ObjectId("…"), session: "macbeth-1", seats: […], total: …}],
//	           created: …, modified: …, deadline: …}
//	receipts: {_id: "c7", created: …, holds: […], total: NumberLong(10000)}
//	indexes:  carts {deadline: 1}, partial; sessions {"reservations.at": 1}, sparse
//
// A plan has a text per row and in it a letter per seat, its zone; a space is no seat, an aisle.
// Rows may have different lengths. Seats are named by row and column, both from 0. In seats 0 is
// free, 1 taken, -1 none. A reservation has at until it is sold.
//
// # States of a cart
//
//	active ──> paying ──> done ──> returned
//	  │  └<──────┘
//	  ├──> canceled
//	  └──> expired
//
// The change of a cart's state is what decides. The sessions follow it; a cart has a deadline as
// long as there is something to do: it expires, or somebody has to end what another began.
//
// # Operations
//
//	Hold        1 find of the prices, 1 update of the cart, which is made if need be, 1 update of the session; 1 of the cart if refused
//	HoldBest    the same, again where somebody else was faster
//	Release     1 update of the cart, 1 of the session
//	Checkout    1 update of the cart, 1 find of the sessions, the payment, 1 update of the cart; then what Cancel has, and 1 insert
//	Cancel      1 update of the cart, 1 update command for all its sessions, 1 update of the cart; Return has 1 more
//
// # Guarantees
//
//   - A seat has one owner at most. Seats of one call are held together or not at all.
//   - seatsAvailable is the number of free seats at every moment: it changes in the update that
//     changes them.
//   - A cart that is left expires after Config.HoldTime, once Repair or Run look at it, and its
//     seats are free again. While it is paid for it does not expire.
//   - A cart is checked out once; its receipt has its _id. It has exactly the seats that the cart
//     really held.
//   - What is held without being in a cart, because a process slept between two steps, is never
//     sold, and freed by Repair.
//   - A session has at most MaxSeats seats, a cart at most MaxHolds holds.
//
// # Crashes
//
// The cart names seats before they are held, and forgets them before they are freed. Who dies in a
// Hold leaves a cart with a hold that is not there: Checkout says so (ErrLost) and drops it. Who
// dies in a Release, or a Hold that was too slow, leaves seats that no cart names: Repair frees
// them when HoldTime is over. Who dies behind the decision of a Checkout, Cancel or Return leaves a
// cart with a deadline: Repair ends it. Who dies while the customer pays leaves a cart that nobody
// can say of whether it is paid: Repair asks Config.Paid when the deadline is over, and gives the
// cart back to the customer if there is no such function.
//
// # Scaling
//
// Shard sessions, carts, layouts and receipts by {_id: "hashed"}. All holds of a session write one
// document: that is what makes them atomic, and bounds how many a second there can be. Large houses
// are better sold as one session per block. Layouts may be read from secondaries.
//
// # Source
//
// "The Little MongoDB Schema Design Book", theater reservation (S21). The book holds the seats
// first and adds them to the cart then: who dies in between keeps them taken for ever, as seats
// expire by way of the cart. It adds to seatsAvailable where it takes from it, and does not give
// back what is released; expiry looks for a session by the id of the reservation, and writes
// another field than it reads. Seats of a finished cart could no more be told from each other, so
// that none could be returned. It has no zones, aisles, payment, or check.
package seating
