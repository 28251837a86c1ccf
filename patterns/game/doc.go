// Package game stores the state of a multiplayer game: players with their items, places, trades
// that happen completely or not at all, battles in turns, and leaderboards.
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
// A player's document holds everything that a screen shows, so one read is enough: abilities, gold
// and a bag of items. But two players may try to take the same sword, and a trade changes two
// documents. If the sword is removed from one document and the process dies, the sword is lost. If
// it is added to the other document first, it exists twice, and players will find out how to repeat
// that. Battles have a different problem: two clients act on the same state, and the second client
// must not overwrite the turn of the first.
//
// When not to use it: for values that change many times a second, such as positions in an arena.
// Keep these in memory and store the result. Use package ledger for money that people pay for; it
// keeps a history.
//
// # The documents
//
//	players: {_id: "fred", location: "cave", gold: NumberLong(10), abilities: {str: 20, int: 8},
//	          items: [{id: "7", type: "sword", damage: 50, ranged: false}], …your fields}
//	places:  {_id: "cave", exits: ["forest"], gold: NumberLong(0),
//	          items: [{id: "9", type: "jar", price: NumberLong(5)}]}
//	deals:   {_id, state: "open", deadline, sides: [{coll: "players", id: "fred", gold, …},
//	          {coll: "places", id: "cave", items: ["9"], …}]}
//	battles: {_id, version: 3, turn: 1, fighters: [{player: "fred", hp: 12}, …], over: false, deadline}
//	scores:  {_id: {board: "week/2026-W18", player: "fred"}, board, player, score: NumberLong(900), at}
//
// Items are an array, because queries ask for any item with some damage and not for an item by its
// name. Abilities are fields, because their names are known (tip 9). The indexes are: players
// {items.damage: 1}, {items.type: 1} and {"abilities.$**": 1}; players and places {escrow.deal: 1},
// sparse; deals {deadline: 1}; scores {board: 1, score: -1, at: 1, player: 1}. A bag holds at most
// Config.MaxItems items, a battle has at most MaxFighters fighters, and each side of a deal gives
// at most MaxDealItems items.
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
// An operation that changes two documents is a deal. It takes seven commands.
//
//  1. The deal is stored with the state open.
//  2. One update of the first side's document moves the given items and gold from the bag into
//     escrow: {deal, items, gold, room}. The update matches only if the side has them, the player
//     is at the right place, and there will be room for the items that the side receives.
//  3. The same update happens for the second side.
//  4. The state of the deal becomes done. This decides that the deal happens.
//  5. The first side's escrow is replaced by the items and gold of the other side. The update
//     matches only if the escrow still exists, so it can be repeated.
//  6. The same update happens for the second side.
//  7. The deal is removed.
//
// If an item is already gone, the second command finds out. Nobody can use an item that is in
// escrow.
//
// Craft changes one document and needs one update: its condition names the items to use up. Play
// reads a battle, lets a function change it, and stores it if nobody has changed it since. The
// caller passes the version that the client has seen. If the battle has another version, Play
// returns the current battle in an error.
//
// # Guarantees
//
//   - An item is in one place: in one bag, or in one escrow. After a crash at any point, no item is
//     lost or exists twice. Gold is never negative, and deals do not change the total amount of
//     gold.
//   - A deal happens for both sides or for neither. Shortly after it has happened, one side may
//     have received its part and the other not yet.
//   - A battle's version grows by one with each turn. Only the player whose turn it is can play a
//     turn, and only once.
//   - Best keeps a player's best score, in whatever order scores arrive. Equal scores have equal
//     ranks (1, 2, 2, 4). Of equal scores the older one is listed first.
//
// Deadlines of battles use Env.Clock, which is the clock of the program that uses this package.
// Clients do not send times.
//
// # After a crash
//
//	deal, 1–3   both sides keep what they have; Repair returns what is in escrow after the deadline
//	deal, 4–7   the deal has happened; Repair gives each side what it has not received yet
//	Craft, Move, Play, Best, Add   one write: it has happened or not
//
// If a process sleeps past the deadline of its deal, it gets ErrExpired. Anything that it puts into
// escrow afterwards is returned, too.
//
// # Scaling
//
// Shard players, places, deals and battles by {_id: "hashed"}, and scores by {board: 1, player: 1}:
// a leaderboard is then usually on one shard. If all players are in one place, or all scores go to
// one board, many processes write the same document or index pages. Create several places, and
// write to boards only when a game ends. Rank counts the entries above a player. On boards with
// millions of entries, show ranks only for the first thousands, or read them from a secondary.
//
// # Source
//
// The documents are from "50 Tips and Tricks for MongoDB Developers", tip 9 (S47). Of chapter 9 of
// "MongoDB Applied Design Patterns" (S30) only the heading was available. All operations that
// change documents are therefore this package's own design. Deals are the two-phase commit of
// chapter 3, without the time between debit and credit in which its readers see a wrong sum.
package game
