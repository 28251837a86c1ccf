// Package catalog keeps products of many types in one collection. All products have some fields in
// common, and each type has its own, as a Go struct. An index serves each search of a shop.
//
//	c, err := catalog.New(db, catalog.Config{
//		Types: []catalog.Type{catalog.TypeOf[Book]("details.year", "details.genre", "details.author")},
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := c.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	err = catalog.Save(ctx, c, &catalog.Product[Book]{
//		SKU: "b1", Title: "Emma", Pricing: catalog.Pricing{List: 1200, Retail: 900},
//		Details: Book{"Jane Austen", []string{"novel", "comedy"}, 1815},
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// An album has tracks, a film has actors, and all have a price. Tables make this one table for each
// type, one with a column for everything, one for each attribute, or joins; documents simply
// differ. What is left to do is that a program does not mistake one type for another, that each
// search has an index, that figures which follow from others stay right, that two editors do not
// overwrite each other, and that products outlive the program that wrote them.
//
// When not to use it: where attributes are made up by people as they go (package metadata finds
// them with one index); for stock, which changes with each sale and does not belong into a document
// that is read all the time; where a search engine is at hand, for its ranking.
//
// # The documents
//
//	products: {_id: "00e8da9b", type: "Audio Album", title: "A Love Supreme", description: "by John Coltrane", asin: "B0000A118M",
//	           shipping: {weight: 6, dimensions: {width: 10, height: 10, depth: 1}},
//	           pricing: {list: 1200, retail: 1100, savings: 100, pct_savings: 8},
//	           details: {title: "A Love Supreme [Original Recording Reissued]", artist: "John Coltrane", genre: ["Jazz", "General"],
//	                     tracks: ["Part I: Acknowledgement", …]},
//	           rev: NumberLong(1), schema: 0}
//	price_rules: {_id: "summer", type: "Film", from: ISODate("…"), until: ISODate("…"), percent: 20}
//	indexes:     products {type: 1, <facet>: 1, <sort>: -1} for each facet of each declared type, {type: 1, <sort>: -1, title: 1} for
//	             each type, {type: 1, title: 1}, {type: 1, "pricing.pct_savings": 1}, {"pricing.pct_savings": 1}, {schema: 1}, one text
//	             index; price_rules {until: 1}
//
// The SKU is the _id. Prices are integers in the smallest unit of a currency. Products are as large
// as their details; rules are of constant size, and few: all that hold are read at once.
//
// A catalogue is read far more than it is written, so each search has its index. Declare as facets
// what is really searched: an index for each costs room in memory.
//
// # Operations
//
//	Get, Find    1 find
//	Search       1 aggregate with $facet: the first products, their number, and counts by values or ranges
//	Save         1 insert or 1 replace, conditional on the revision
//	SetPrice     1 update; 3 commands for a product of an older form
//	Import       1 bulkWrite of upserts for each 500 products; 1 more where others import the same ones
//	Rules        1 find; Price computes without the server
//	SetRule      1 replace with upsert
//
// Words are searched by $text, in products of one type or of all. A part of a title is compared
// with the titles in the index of the type, in the order that is asked for: it reads that index,
// but only the documents that match. The counts of Search are of what was found: choosing a value
// narrows them down.
//
// # Guarantees
//
//   - A product is saved whole or not at all, with savings that follow from its prices and with
//     details that are valid.
//   - Save does not overwrite what somebody else has changed since the product was read
//     (ErrConflict). SetPrice does not need to be told: it changes nothing but the prices.
//   - A product of one type is never read as one of another (ErrType), nor replaced by one.
//   - Products of older forms are read in the current one (Config.Steps, Schema). Searches find
//     them by the names that are stored: migrate before you search by a field that has another name
//     now.
//   - Rules and products are read at two moments. What a customer pays is computed when the order
//     is made, and kept in it.
//
// A server without text indexes does everything but Query.Text (ErrNoText).
//
// # What a crash leaves
//
//	Save, SetRule, Delete   one write: it has happened or not. A repeated Save of a new product says ErrExists, and one of a revision
//	                        ErrConflict, where it had
//	SetPrice                one write, behind the migration of a product of an older form
//	Import                  some of the products, each as a whole; repeat it
//
// There is nothing to repair.
//
// # Metrics
//
// catalog.imported counts products; schema.migrated those that were migrated.
//
// # Scaling
//
// Shard by {type: 1, _id: 1}: most searches name the type and then ask few shards; the _id tells
// the products of a type apart. A Get without the type asks all shards. Across shards the server
// guarantees an _id to be unique for its type only. Read from secondaries if products may be a
// moment old: db.Client().Database(name,
// options.Database().SetReadPreference(readpref.SecondaryPreferred())).
//
// # Source
//
// "MongoDB Applied Design Patterns", chapter 5 (S15) and 2 (S06); schema advice for a catalogue
// that is mostly read (S63). The book shards by {type: 1, "details.genre": 1, sku: 1}, which a
// server refuses, as genres are arrays. It keeps savings next to prices without saying who keeps
// them right, has no revisions, and prints a query for "jazz" where its product has "Jazz": values
// are compared as they are. Prices that depend on time, place and quantity, and counts by facets,
// are not in the book.
package catalog
