// Package game keeps the state of a game of many players: their items and places, trades that
// happen as a whole, fights in turns, and leaderboards.
//
//	g, err := game.New(db, game.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	err = errors.Join(
//		g.AddPlace(ctx, game.Place{ID: "cave", Items: []game.Item{{ID: "7", Type: "sword", Damage: 50}}}),
//		g.AddPlayer(ctx, game.Player{ID: "fred", Location: "cave"}),
//		g.AddPlayer(ctx, game.Player{ID: "ann", Location: "cave", Gold: 20}),
//	)
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := g.PickUp(ctx, "fred", "cave", "7"); err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A player's document has everything that a screen shows, so that one read suffices: abilities, a
// purse, a bag of items. Then two players reach for the same sword, and a trade changes two
// documents. If the sword is taken from one and the process dies, it is lost; if it is given first,
// it is there twice, and somebody will find out how to repeat that. Fights have another problem:
// two clients act on the same state, and the second must not overwrite what the first has done.
//
// When not to use it: for what changes many times a second, such as positions in an arena. Keep
// that in memory and store the result. Money that people pay for belongs into a ledger (package
// ledger), which has a history.
//
// # The documents
//
//	players: {_id: "fred", location: "cave", gold: NumberLong(10), abilities: {str: 20, int: 8},
//	          items: [{id: "7", type: "sword", damage: 50, ranged: false}], …your fields}
//	places:  {_id: "cave", exits: ["forest"], gold: NumberLong(0), items: [{id: "9", type: "jar", price: NumberLong(5)}]}
//	deals:   {_id, state: "open", deadline, sides: [{coll: "players", id: "fred", gold, …}, {coll: "places", id: "cave", items: ["9"], …}]}
//	battles: {_id, version: 3, turn: 1, fighters: [{player: "fred", hp: 12}, …], over: false, deadline}
//	scores:  {_id: {board: "week/2026-W18", player: "fred"}, board, player, score: NumberLong(900), at}
//
// Items are an array because one asks for any item with some damage, and not for one by its name;
// abilities are fields because their names are known (tip 9). Indexes: players {items.damage: 1},
// {items.type: 1}, {"abilities.$**": 1}; players and places {escrow.deal: 1}, sparse; deals
// {deadline: 1}; scores {board: 1, score: -1, at: 1, player: 1}. A bag holds Config.MaxItems,
// MaxFighters fight, a deal is about MaxDealItems items of each side.
//
// # Operations
//
//	PickUp, Drop, Buy, Trade   7 commands
//	Craft, Move                1 find, 1 update
//	Play                       1 find, 1 replace; Skip the same
//	Best, Add                  1 update
//	Rank                       1 find, 1 count of index entries
//	Top                        1 find; Around 5
//	Holding, Able              1 find
//
// Everything that changes two documents is a deal: (1) it is written down, open; (2, 3) each side's
// part is moved within the side's document, in one update, from the bag into escrow: {deal, items,
// gold, room}, if it is there, if the player stands where that can be done, and if there will be
// room for what comes; (4) the deal's state becomes done, which decides; (5, 6) each side's escrow
// is replaced by what the other side gave, if it is still there, so that doing this twice is doing
// it once; (7) the deal is removed. A sword that is gone is seen after the second command. What is
// in escrow can be used by nobody.
//
// Craft is one update, as it changes one document: its condition names the items to be used up.
// Play reads a battle, lets a function change it, and writes it if nobody else has since: it says
// which version the client has seen, and is refused with what is now otherwise.
//
// # Guarantees
//
//   - An item is in one place: in one bag, or in one escrow. Nothing is lost or doubled at any
//     crash point; gold is never negative, and deals keep its sum.
//   - A deal happens for both sides or for none. For a moment after it has, one side may have its
//     part before the other.
//   - A battle's version grows by one with each turn; a turn is played by the player whose turn it
//     is, once.
//   - Best keeps a player's best score, whatever the order in which scores arrive. Equal scores
//     have equal ranks (1, 2, 2, 4); who had the score first is shown first.
//
// The server's clock of a battle is Env.Clock: clients tell no times.
//
// # After a crash
//
//	deal, 1–3   both sides keep what they have; Repair gives back what is in escrow when the deadline has passed
//	deal, 4–7   it has happened; Repair hands out what is not handed out yet
//	Craft, Move, Play, Best, Add   one write: it has happened or not
//
// A process that sleeps past its deal's deadline is told ErrExpired, and what it has put into
// escrow afterwards is given back, too.
//
// # Scaling
//
// Shard players, places, deals and battles by {_id: "hashed"}, scores by {board: 1, player: 1}: a
// leaderboard is read from the shards that have it, mostly one. A place where everybody is, and a
// board that everybody's scores go to, are documents and index pages that many write: make several
// places, and write to boards when a game ends. Rank counts the entries above a player: on boards
// of millions show the rank of the first thousands only, or read it from a secondary.
//
// # Source
//
// "50 Tips and Tricks for MongoDB Developers", tip 9 (S47); "MongoDB Applied Design Patterns",
// chapter 9 (S30) exists in the inventory by its heading only. All that changes something is
// therefore this package's own design; deals are the two-phase commit of chapter 3 without its
// window between debit and credit.
package game
