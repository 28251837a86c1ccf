// Package i18n keeps the translations of a text inside documents, and in the copies that other
// documents hold.
//
//	texts, err := i18n.New(db, i18n.Config{
//		Copies: []i18n.Copy{{Collection: "products", Array: "categories"}},
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := texts.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	if err := texts.Set(ctx, "cars", "en-us", "car"); err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A product page shows the names of the product's categories in the reader's language. One read
// should suffice: so each product holds a copy of the names of its categories, in all languages.
// Then a new translation must reach the category and every copy of it, and a process that dies
// half-way, or two that change the same category at once, must not leave products that say
// something else for ever.
//
// When not to use it: for texts that change often (each change is written to all copies), and for
// long ones that few readers need (a document per language is smaller to read).
//
// # The documents
//
//	categories: {_id: 1, names: {"en-us": "car", "de-de": "Auto"}, rev: NumberLong(2)}
//	products:   {_id: 7, cost: 100, categories: [{_id: 1, names: {"en-us": "car", "de-de": "Auto"}, rev: NumberLong(2)}]}
//	indexes:    products {"categories._id": 1}; categories {pending: 1}, partial
//
// rev counts the changes of a text; a copy has that of the text it was made from, and is replaced
// by later ones only. pending is there while a change is on its way to the copies.
//
// # Operations
//
//	Set, Unset    1 findAndModify of the text (2 for a new one), 1 update for each kind of copy, 1 update that ends the change
//	Get           1 find
//	Attach        1 find, 1 update that adds the copy, 1 find that sees whether the text has changed meanwhile; where it has, or the
//	              document had a copy, the updates of Set behind its first
//	Fill, Drop    Set and Unset for each text that lacks a locale, or has it
//	Missing       1 find
//	Repair        1 find, 1 aggregate for each kind of copy, and for each text that is pending or has older copies the updates as above
//	Check         1 find, 1 aggregate for each kind of copy
//
// # Guarantees
//
//   - Once the operations are over, each copy says what its text says, in whatever order they ran
//     side by side.
//   - A text has a bounded number of locales (MaxLocales), so that documents do not grow without
//     end.
//
// Between the first and the last update of a change readers of different products may see different
// texts.
//
// # Crashes
//
//	Set, Unset    before the first update nothing; behind it copies are old, and pending says so: Repair ends the change
//	Attach        there is no copy, or one that may be older than its text, where that changed at the same time: Repair, or Attach again
//	Fill, Drop    some texts are done, and others not: call it again, and it does the others
//
// Repair may run anywhere and at any time, also beside the changes that it looks for.
//
// # Scaling
//
// Texts are few: shard them by {_id: "hashed"}, if at all. Documents with copies are sharded as
// their other uses ask for; a change then goes to all shards. Both may be read from secondaries.
//
// # Source
//
// "The Little MongoDB Schema Design Book", internationalisation (S39). The book's update reaches
// the first product only, and names the category's own field by an array's path; it has no index
// for the update of the copies, and nothing for a crash between them.
package i18n
