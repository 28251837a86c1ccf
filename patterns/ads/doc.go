// Package ads chooses the advertisement for a place of a site: the dearest one that fits, that its
// campaign can pay, and that the user has not seen too often.
//
//	network, err := ads.New(db, ads.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := network.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	now := time.Now()
//	campaign, err := network.Book(ctx, ads.Campaign{
//		Name: "Spring", Budget: 200, From: now.Add(-time.Minute), To: now.Add(24 * time.Hour),
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A page asks for an advertisement and waits. Budgets must not be exceeded, however many servers
// answer such requests at once; users tire of what they see too often; advertisers want their money
// spread over days, and their campaign ended at once when they say so.
//
// When not to use it: for auctions, in which the price is made for each request. What is chosen
// here has its price before.
//
// # The documents
//
//	campaigns: {_id: ObjectId("…a"), name: "Spring", budget: NumberLong(5000000), from: ISODate("…"), to: ISODate("…"), even: true,
//	            stopped: false, spent: NumberLong(2500), impressions: NumberLong(2),
//	            ads: {"…b": {impressions: 2, spent: 2500}}, days: {"20260501": {impressions: 2, spent: 2500}}}
//	zones:     {_id: {site: "news", zone: "front"}, ads: [{_id: ObjectId("…b"), campaign: ObjectId("…a"), cost: NumberLong(1250),
//	            keywords: ["shoes"], cap: 3, window: NumberLong(86400000000000), content: "…"}, …]}
//	profiles:  {_id: "user-17", at: ISODate("…"), seen: {"…b": [{id: ObjectId("…"), at: ISODate("…")}, …]}}
//	clicks:    {_id: ObjectId("…"), campaign: ObjectId("…a"), ad: ObjectId("…b"), user: "user-17", at: ISODate("…")}
//
// The advertisements of a zone are in the order of their cost, the dearest first. A profile keeps
// the last few times that its user saw an advertisement, as many as its cap; it expires when its
// user has seen nothing for Config.Remember. Indexes: zones {"ads.campaign": 1}, clicks {campaign:
// 1, ad: 1}, and for expiry profiles {at: 1}, clicks {at: 1}. The bounds of documents are MaxAds,
// MaxDays and MaxCap; a profile grows with the number of different advertisements that its user
// sees.
//
// # Operations
//
//	Serve   1 find of the zone, 1 of the campaigns; then for each advertisement that is tried, until one is shown: 1 update of the
//	        profile, if it has a cap, and 1 update of the campaign; 1 more where there is no money for it
//	Click   1 insert
//	Stop    1 update of the campaign, 1 of the zones
//	Put     1 find, 1 upsert
//	Book, Extend, Remove   1 write
//
// # Guarantees
//
//   - A campaign never spends more than its budget, and with Even at no time more than the part of
//     it that the passed time allows: it pays before the advertisement is returned, by an update
//     that has its limit as a condition.
//   - A campaign that was stopped is not served any more, as the same update looks at that too,
//     wherever its advertisements still are.
//   - A user does not see an advertisement more than Cap times within any Window, however many
//     requests come at once; the window slides. It holds for clocks that agree; a server whose
//     clock is ahead by a minute shows it a minute earlier.
//   - What a campaign has spent is at each moment the sum of what its advertisements have, and its
//     days: they are one document.
//   - An impression's click counts once, however often it is sent.
//
// # After a crash
//
//	Serve, before the profile     nothing has happened
//	Serve, behind the profile     the user may have seen it once less than the cap allows
//	Serve, behind the campaign    it has paid for an impression that nobody saw
//	Stop, behind the campaign     advertisements stand in zones, and are not served; Repair, or Run, takes them out
//	Put                           before its write nothing has happened
//	Book, Extend, Remove, Click   one write: it has happened or not
//
// Serve notes what the user sees, then has it paid, then returns: so a budget or a cap is never
// exceeded, and may be used a little less. Book and Click may be repeated with the same ID; a Put
// that is repeated says ErrPlaced where it had happened.
//
// # Scaling
//
// Each collection by {_id: "hashed"}: a request touches a zone, a few campaigns, a user. A campaign
// is one document, and pays for as many impressions a second as one document can be changed; a
// larger one is booked as several with parts of its budget. Reports (Campaign, Clicks) serve well
// from secondaries; Serve must not read there, as a zone without its dearest advertisement costs
// money.
//
// # Source
//
// "MongoDB Applied Design Patterns", chapter 7: basic serving, frequency capping, keywords. It
// chooses by eCPM, counts impressions, and pulls the advertisements of a campaign when it has
// ended; how a budget is kept by several servers at once, how long a cap holds, and which of
// several with the same keywords comes first, it leaves open.
package ads
