// Package catalog stores products of many types in one collection. All products have some fields in
// common, and each type has its own fields, as a Go struct. Every search of a shop has an index.
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
// An album has tracks, a film has actors, and both have a price. In tables, this needs one table
// for each type, one table with all columns, one table for attributes, or joins. Documents may
// simply have different fields. But some problems remain. A program must not mistake one type for
// another. Each search needs an index. Figures computed from other figures must stay right. Two
// editors must not overwrite each other's changes. And products outlive the program that wrote
// them.
//
// When not to use it: if users invent attributes themselves (package metadata searches them with
// one index); for stock, which changes with each sale and should not be in a document that is read
// all the time; if you have a search engine, for its ranking.
//
// # The documents
//
//	products: {_id: "00e8da9b", type: "Audio Album", title: "A Love Supreme", description: "by John Coltrane",
//	           asin: "B0000A118M",
//	           shipping: {weight: 6, dimensions: {width: 10, height: 10, depth: 1}},
//	           pricing: {list: 1200, retail: 1100, savings: 100, pct_savings: 8},
//	           details: {title: "A Love Supreme [Original Recording Reissued]", artist: "John Coltrane",
//	                     genre: ["Jazz", "General"], tracks: ["Part I: Acknowledgement", …]},
//	           rev: NumberLong(1), schema: 0}
//	price_rules: {_id: "summer", type: "Film", from: ISODate("…"), until: ISODate("…"), percent: 20}
//	indexes:     products {type: 1, <facet>: 1, <sort>: -1} for each facet of each declared type,
//	             {type: 1, <sort>: -1, title: 1} for each type, {type: 1, title: 1},
//	             {type: 1, "pricing.pct_savings": 1}, {"pricing.pct_savings": 1}, {schema: 1},
//	             one text index; price_rules {until: 1}
//
// The SKU of a product is its _id. Prices are integers in the smallest unit of a currency. A
// product is as large as its details. Price rules are small and few: Rules reads all valid rules at
// once.
//
// A catalogue is read much more often than it is written, so each search has an index. Declare as
// facets only fields that are really searched: each facet needs an index, which takes memory.
//
// # Operations
//
//	Get, Find    1 find
//	Search       1 aggregate with $facet: the first products, their number, counts by values or ranges
//	Save         1 insert or 1 replace, conditional on the revision
//	SetPrice     1 update; 3 more commands for a product of an older version
//	Import       1 bulkWrite of upserts for each 500 products; 1 more if others import the same products
//	Rules        1 find; Price computes without the server
//	SetRule      1 replace with upsert
//
// Query.Text uses $text, in products of one type or of all types. Query.Title compares a part of a
// title with all titles in the index of the type, in the order of the search: it reads the whole
// index of the type, but only the documents that match. The counts of Search cover only the
// products found: if the user selects a value, the counts become smaller.
//
// # Guarantees
//
//   - A product is saved completely or not at all, with valid details and with savings computed
//     from its prices.
//   - Save does not overwrite changes that somebody else has made since the product was read
//     (ErrConflict). SetPrice needs no revision, because it changes only the prices.
//   - A product of one type is never read as another type (ErrType), and never replaced by a
//     product of another type.
//   - Products of older versions are read in the current version (Config.Steps, Schema). Searches
//     use the stored field names: migrate before you search by a field that was renamed.
//   - Rules and products are read at different times. Compute the price that a customer pays when
//     the order is made, and store it in the order.
//
// A server without text indexes supports everything except Query.Text (ErrNoText).
//
// # After a crash
//
//	Save, SetRule, Delete   one write: it has happened or not; if it has, repeating Save returns ErrExists
//	                        for a new product and ErrConflict for a new revision
//	SetPrice                one write, after the migration of a product of an older version
//	Import                  some of the products are stored, each completely; repeat it
//
// There is nothing to repair.
//
// # Metrics
//
// catalog.imported counts imported products. schema.migrated counts migrated products.
//
// # Scaling
//
// Shard by {type: 1, _id: 1}. Most searches name the type and then query few shards; the _id
// divides the products of a type. A Get without the type queries all shards. Across shards the
// server guarantees only that an _id is unique within its type. If products may be slightly old,
// read from secondaries: db.Client().Database(name,
// options.Database().SetReadPreference(readpref.SecondaryPreferred())).
//
// # Source
//
// The pattern is in "MongoDB Applied Design Patterns", chapters 5 (S15) and 2 (S06), with schema
// advice for a catalogue that is mostly read (S63). The book shards by {type: 1, "details.genre":
// 1, sku: 1}, which a server refuses because genres are arrays. It stores savings beside prices,
// but does not say how they stay right, and it has no revisions. It shows a query for "jazz"
// although its product has "Jazz"; values are compared as they are. The book does not have counts
// by facets, or prices that depend on time, place and quantity.
package catalog
