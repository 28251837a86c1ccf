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
// Many people look at the same plan and want the same seats. They want several seats at once, and
// seats of several shows in one cart. They may pay, give up, or just leave. A seat must have at
// most one owner. Nobody may keep a seat for long without paying, even if a process dies in the
// middle.
//
// When not to use it: for places that are only counted and have no numbers. A counter and a
// conditional $inc are enough.
//
// # The documents
//
//	layouts:  {_id: "small", name: "Small stage", plan: ["AAAA AAAA", "BBBBBBBBB", "BB"]}
//	sessions: {_id: "macbeth-1", layout: "small", name: "Macbeth", start: …, end: …, plan: […],
//	           prices: {A: NumberLong(5000), B: NumberLong(3000)},
//	           seats: [[0, 1, 1, 0, -1, 0, 0, 0, 0], […], [0, 0]], seatsAvailable: 17,
//	           reservations: [{_id: ObjectId("…"), cart: "c7", seats: [[0, 1], [0, 2]],
//	                           total: NumberLong(10000), at: …}]}
//	carts:    {_id: "c7", state: "active", total: NumberLong(10000),
//	           holds: [{_id: ObjectId("…"), session: "macbeth-1", seats: […], total: …}],
//	           created: …, modified: …, deadline: …}
//	receipts: {_id: "c7", created: …, holds: […], total: NumberLong(10000)}
//	indexes:  carts {deadline: 1}, partial; sessions {"reservations.at": 1}, sparse
//
// A plan has a string for each row, with a letter for each seat: the letter names the zone of the
// seat. A space is an aisle. Rows may have different lengths. A seat is named by row and column,
// both from 0. In seats, 0 is a free seat, 1 is a taken seat, and -1 is an aisle. A reservation has
// the field at until it is sold.
//
// # States of a cart
//
//	active ──> paying ──> done ──> returned
//	  │  └<──────┘
//	  ├──> canceled
//	  └──> expired
//
// The update that changes the state of a cart decides, and the sessions follow. A cart has a
// deadline while something is left to do: the cart expires at the deadline, or another process
// finishes the operation.
//
// # Operations
//
//	Hold        1 find of the prices, 1 update of the cart, which makes it if needed, 1 update of the session;
//	            1 update of the cart if the session refuses
//	HoldBest    the same, again if somebody else was faster
//	Release     1 update of the cart, 1 of the session
//	Checkout    1 update of the cart, 1 find of the sessions, the payment, 1 update of the cart;
//	            then as Cancel, and 1 insert
//	Cancel      1 update of the cart, 1 update command for all its sessions, 1 update of the cart;
//	            Return has 1 more
//
// # Guarantees
//
//   - A seat has one owner at most. The seats of one call are held together or not at all.
//   - seatsAvailable is the number of free seats at every moment: one update changes both.
//   - A cart that is left expires after Config.HoldTime, at the next Repair, or while Run runs, and
//     its seats are free again. It does not expire during the payment.
//   - A cart is checked out once, and its receipt has its _id. The receipt lists exactly the seats
//     that the cart held.
//   - A process that slept between two steps can hold seats that are in no cart. Nobody buys these
//     seats, and Repair frees them.
//   - A session has at most MaxSeats seats, a cart at most MaxHolds holds.
//
// # Crashes
//
// An operation adds a hold to the cart before it takes the seats, and removes the hold before it
// frees the seats.
//
//   - A process that dies in a Hold leaves a hold whose seats are not taken: Checkout returns
//     ErrLost and drops it.
//   - A process that dies in a Release, or in a Hold that was too slow, leaves seats that no cart
//     names: Repair frees them after HoldTime.
//   - A process that dies after a Checkout, Cancel or Return has changed the state leaves a cart
//     with a deadline: Repair ends it.
//   - A process that dies during the payment leaves a cart that may be paid: after the deadline,
//     Repair asks Config.Paid. Without this function the cart is active again.
//
// # Scaling
//
// Shard sessions, carts, layouts and receipts by {_id: "hashed"}. All holds of a session write one
// document. This makes them atomic, and limits how many holds a second there can be. Divide a large
// house into one session for each block. Layouts may be read from secondaries.
//
// # Source
//
// The pattern is in "The Little MongoDB Schema Design Book", theater reservation (S21). The book
// takes the seats first and then adds them to the cart. A process that dies in between leaves the
// seats taken for ever, because seats expire by way of the cart. Its listings have mistakes. They
// add to seatsAvailable where they must subtract, and do not add the released seats again. The
// expiry looks for a session by the ID of the reservation, and writes another field than it reads.
// A finished cart does not tell its seats apart, so that none can be returned. The book has no
// zones, aisles, payment or check.
package seating
