// Package ads chooses the advertisement for a place of a site: the most expensive one that matches
// the request, that its campaign can pay for, and that the user has not seen too often.
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
// A page requests an advertisement and waits for it. Budgets must not be exceeded, however many
// servers answer requests at once. Users do not want to see the same advertisement too often.
// Advertisers want their money spread over days, and want to stop a campaign at once.
//
// When not to use it: for auctions, in which the price is set for each request. Here the price of
// an advertisement is fixed before the request.
//
// # The documents
//
//	campaigns: {_id: ObjectId("…a"), name: "Spring", budget: NumberLong(5000000), from: ISODate("…"),
//	            to: ISODate("…"), even: true, stopped: false, spent: NumberLong(2500),
//	            impressions: NumberLong(2), ads: {"…b": {impressions: 2, spent: 2500}},
//	            days: {"20260501": {impressions: 2, spent: 2500}}}
//	zones:     {_id: {site: "news", zone: "front"},
//	            ads: [{_id: ObjectId("…b"), campaign: ObjectId("…a"), cost: NumberLong(1250),
//	                   keywords: ["shoes"], cap: 3, window: NumberLong(86400000000000), content: "…"}, …]}
//	profiles:  {_id: "user-17", at: ISODate("…"), seen: {"…b": [{id: ObjectId("…"), at: ISODate("…")}, …]}}
//	clicks:    {_id: ObjectId("…"), campaign: ObjectId("…a"), ad: ObjectId("…b"), user: "user-17", at: ISODate("…")}
//
// The advertisements of a zone are in the order of their cost, the most expensive first. A profile
// stores the last times at which the user saw an advertisement, as many as the cap of the
// advertisement. It expires when the user has seen no advertisement for Config.Remember. The
// indexes are {"ads.campaign": 1} of zones, {campaign: 1, ad: 1} of clicks, and TTL indexes on at
// of profiles and clicks. MaxAds, MaxDays and MaxCap limit the documents. A profile grows with the
// number of different advertisements that its user sees.
//
// # Operations
//
//	Serve   1 find of the zone, 1 find of the campaigns; then for each advertisement that is tried:
//	        1 update of the profile if it has a cap, 1 update of the campaign, and 1 more if the campaign
//	        has no money
//	Click   1 insert
//	Stop    1 update of the campaign, 1 update of the zones
//	Put     1 find, 1 upsert
//	Book, Extend, Remove   1 write
//
// # Guarantees
//
//   - A campaign never spends more than its budget. With Even, it never spends more than the part
//     of the budget that corresponds to the passed time. The campaign pays before the advertisement
//     is returned, with an update that has the limit as a condition.
//   - A stopped campaign is not served, even if its advertisements are still in zones: the same
//     update checks this.
//   - A user does not see an advertisement more than Cap times within any Window, however many
//     requests come at once. The window slides. This depends on synchronized clocks: a server whose
//     clock is one minute ahead shows the advertisement one minute earlier.
//   - At every moment the spent amount of a campaign is the sum over its advertisements, and the
//     sum over its days, because one document holds all counters.
//   - The click on an impression counts once, however often it is sent.
//
// # After a crash
//
//	Serve, before the profile     nothing has happened
//	Serve, after the profile      the user may see the advertisement once less than the cap allows
//	Serve, after the campaign     the campaign has paid for an impression that nobody saw
//	Stop, after the campaign      advertisements stay in zones but are not served; Repair or Run removes them
//	Put                           before its write nothing has happened
//	Book, Extend, Remove, Click   one write: it has happened or not
//
// Serve first records that the user sees the advertisement, then makes the campaign pay, and then
// returns. So a crash never exceeds a budget or a cap, but may leave a little of it unused. Click
// may be repeated. A Book that is repeated with the same ID fails with a duplicate key error. A
// repeated Put returns ErrPlaced if the first one has happened.
//
// # Scaling
//
// Shard each collection by {_id: "hashed"}: a request uses one zone, a few campaigns and one user.
// A campaign is one document, so it can pay only for as many impressions a second as one document
// can be updated. Divide a larger campaign into several campaigns with parts of the budget. Reports
// (Campaign, Clicks) may read from secondaries. Serve must not: a zone that lacks its most
// expensive advertisement costs money.
//
// # Source
//
// The pattern is in "MongoDB Applied Design Patterns", chapter 7: basic serving, frequency capping
// and keywords. The book chooses by eCPM, counts impressions, and removes the advertisements of a
// campaign that has ended. It does not say how several servers keep a budget at once, how long a
// cap lasts, or which of several advertisements with the same keywords comes first.
package ads
