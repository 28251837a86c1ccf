// Package i18n stores the translations of a text in one document, and keeps the copies in other
// documents up to date.
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
// A product page shows the names of the product's categories in the reader's language, and should
// need only one read. So each product holds a copy of the names of its categories, in all
// languages. A new translation must reach the category and every copy. Outdated copies must not
// stay for ever, even if a process dies in the middle or two processes change the same category at
// once.
//
// When not to use it: for texts that change often, because each change is written to all copies;
// for long texts that few readers need, because a separate document for each language is smaller to
// read.
//
// # The documents
//
//	categories: {_id: 1, names: {"en-us": "car", "de-de": "Auto"}, rev: NumberLong(2)}
//	products:   {_id: 7, cost: 100,
//	             categories: [{_id: 1, names: {"en-us": "car", "de-de": "Auto"}, rev: NumberLong(2)}]}
//	indexes:    products {"categories._id": 1}; categories {pending: 1}, partial
//
// rev is the number of changes of a text. A copy has the rev of the text from which it was made,
// and is replaced only by a later text. The field pending exists while a change is being written to
// the copies.
//
// # Operations
//
//	Set, Unset    1 findAndModify of the text (2 for a new one), 1 update for each kind of copy,
//	              1 update that ends the change
//	Get           1 find
//	Attach        1 find, 1 update that adds the copy, 1 find that checks whether the text has changed meanwhile;
//	              if it has, or if the document already had a copy, also the updates of Set after the first
//	Fill, Drop    Set for each text that lacks the locale, Unset for each text that has it
//	Missing       1 find
//	Repair        1 find, 1 aggregate for each kind of copy, and the updates of Set for each text that is pending
//	              or has outdated copies
//	Check         1 find, 1 aggregate for each kind of copy
//
// # Guarantees
//
//   - When no operation is under way, each copy agrees with its text, in whatever order concurrent
//     operations ran.
//   - A text has at most MaxLocales locales, so that documents do not grow without limit.
//
// During a change, readers of different products may see different texts.
//
// # Crashes
//
//	Set, Unset    before the first update nothing has changed; after it copies are outdated, and pending is
//	              set; Repair completes the change
//	Attach        there is no copy, or the copy is outdated because the text changed at the same time; Repair
//	              or another Attach updates it
//	Fill, Drop    some texts are done and others are not; call it again for the others
//
// Repair may run anywhere and at any time, even while changes are under way.
//
// # Scaling
//
// There are few texts: shard them by {_id: "hashed"} or not at all. Shard documents with copies as
// their other uses require; a change then goes to all shards. Both may be read from secondaries.
//
// # Source
//
// The pattern is in "The Little MongoDB Schema Design Book", internationalisation (S39). The book's
// update reaches only the first product, and addresses the category's own field with the path of an
// array. It has no index for updating the copies, and does not treat a crash between the updates.
package i18n
