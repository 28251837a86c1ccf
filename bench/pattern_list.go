package main

import (
	"fmt"

	"github.com/sheafdb/sheaf/patterns/cart"
	"github.com/sheafdb/sheaf/patterns/queue"
)

// patterns lists the patterns in the order of the table. Some patterns are implemented by a package
// of patterns/: the functions use… call that package, and the field byHand sends the statements
// that a program without the package would send.
var patterns = []pattern{
	{
		Name: "queue-publish", Clients: 8, Peer: 0.77, What: "a job is put into a queue with two indexes",
		mongo: usePut, byHand: queuePublish, postgres: pgQueuePublish,
	},
	{
		Name: "queue-fifo", Clients: 8, Peer: 0.52, What: "the oldest job that waits is taken, and ended",
		mongo: useTake(queue.ByTime), byHand: queueTake("createdOn"),
		postgres: pgQueueTake("(doc->>'createdOn')::bigint"),
	},
	{
		Name: "queue-priority", Clients: 8, Peer: 0.46, What: "the most urgent job that waits is taken, the oldest first, and ended",
		mongo: useTake(queue.ByPriority), byHand: queueTake("priority", "createdOn"),
		postgres: pgQueueTake("(doc->>'priority')::bigint desc, (doc->>'createdOn')::bigint"),
	},
	{
		Name: topicName, Clients: 1, Peer: 1.39, Others: []string{sideEmbedded},
		What:  "a message is put into a capped collection on which 40 cursors wait (PostgreSQL: 40 connections listen), until all have received all",
		mongo: useTopic, byHand: topicByHand, postgres: pgTopic,
	},
	{
		Name: topicBusyName, Clients: 16, Others: []string{sideEmbedded},
		What: "the same by 16 publishers at once", mongo: useTopic, byHand: topicByHand, postgres: pgTopic,
	},
	{
		Name: "metadata-all-elemmatch", Reads: true, Clients: 8, Peer: 0.59, What: "of 10,000 pictures, those that have two of their five properties, about 50 (PostgreSQL: a GIN index)",
		mongo: useMetadata, byHand: metadataByHand, postgres: pgMetadata,
	},
	{
		Name: "category-children", Reads: true, Clients: 8, Peer: 1.07,
		What:  "the 20 children of a category by the path of their parent",
		mongo: useCategory("children"), byHand: categoryTree("children"), postgres: pgCategories("children"),
	},
	{
		Name: "category-subtree", Reads: true, Clients: 8, Peer: 0.76, What: "the 84 categories below one by an anchored regular expression (PostgreSQL: a range)",
		mongo: useCategory("subtree"), byHand: categoryTree("subtree"), postgres: pgCategories("subtree"),
	},
	{
		Name: "cart-reservation-checkout-5", Clients: 8, Peer: 0.70, What: "five products into a cart, each reserved in stock, and the check-out: 13 statements",
		mongo: useCart(cart.OnAdd), byHand: cartByHand(true), postgres: pgCart(true),
	},
	{
		Name: "cart-no-reservation-checkout-5", Clients: 8, Peer: 0.53,
		What:  "five products into a cart, stock taken at the check-out",
		mongo: useCart(cart.AtCheckout), byHand: cartByHand(false), postgres: pgCart(false),
	},
	{
		Name: "theater-reserve-5-seats", Clients: 8, Peer: 1.31,
		What:  "five seats of a session, all or none, and the cart",
		mongo: useSeating, byHand: theater, postgres: pgTheater,
	},
	{
		Name: "account-transfer", Clients: 8, Peer: 0.135, What: "a transfer in seven steps, each of which can be made up for (PostgreSQL: a transaction)",
		mongo: useLedger, byHand: transferBySteps, postgres: pgTransfer,
	},
	{
		Name: "timeseries-inc", Clients: 8, Peer: 0.62, What: "a counter of a page's minute, by _id, made where it is missing",
		mongo: useTimeseries, byHand: timeseriesInc, postgres: pgTimeseriesInc,
	},
	{
		Name: "slice-cache-push", Clients: 8, Peer: 0.94, What: "a comment into the ten latest ones of an article",
		mongo: useLatest(false), byHand: sliceCache(false), postgres: pgSliceCache(false),
	},
	{
		Name: "slice-cache-preallocated", Clients: 8, Peer: 0.71,
		What:  "the same where there were ten from the beginning",
		mongo: useLatest(true), byHand: sliceCache(true), postgres: pgSliceCache(true),
	},
	{
		Name: "i18n-add-locale", Clients: 8, Peer: 2.74, What: "a category's name in one more language, also in its ten products",
		mongo: useI18n(true), byHand: locale(true), postgres: pgLocale(true),
	},
	{
		Name: "i18n-remove-locale", Clients: 8, Peer: 4.54, What: "a category's name in one language less, also in its ten products",
		mongo: useI18n(false), byHand: locale(false), postgres: pgLocale(false),
	},
	{
		Name: "inbox-fanout", Clients: 8, Peer: 0.68, What: "a message to two, each with a counter and buckets of 50",
		mongo: useInbox, byHand: inbox, postgres: pgInbox,
	},
	{
		Name: "event-log-insert", Clients: 8, Peer: 0.82, What: "an event with two indexes",
		mongo: useEventlog, byHand: eventLog, postgres: pgEventLog,
	},
	{
		Name: "preaggregated-hit", Clients: 8, Peer: 0.61, What: "a hit counted in the documents of the page's day and month",
		mongo: useHits, byHand: hitsByHand, postgres: pgHits,
	},
	{
		Name: "comment-bucket-push", Clients: 8, Peer: 1.10, What: "a comment into an article's last page of 50",
		mongo: useComments, byHand: commentBucket, postgres: pgCommentBucket,
	},
	{
		Name: "ad-serve", Clients: 8, Peer: 0.61, What: "the best advertisement of a place that the user has not seen too often, counted in both",
		mongo: useAds, byHand: adServe, postgres: pgAdServe,
	},
	{
		Name: "transfer-2", Clients: 8, What: "a transaction of two updates",
		mongo: transferInTransaction, postgres: pgTransfer,
	},
	{
		Name: "two-updates", Clients: 8, What: "the same two updates, each for itself",
		mongo: twoUpdates, postgres: pgTwoUpdates,
	},
	{
		Name: "inc-spread", Clients: 16, What: "{$inc} of one of 10,000 documents of 1 KB",
		Others: []string{sideStandalone},
		mongo:  incOf(10_000), postgres: pgIncOf(10_000),
	},
	{
		Name: "inc-hot", Clients: 16, What: "{$inc} of one document of 1 KB", Others: []string{sideStandalone},
		mongo: incOf(1), postgres: pgIncOf(1),
	},
	{
		Name: "insert-16", Clients: 16, What: "insert of a document of 1 KB", Others: []string{sideStandalone},
		mongo: insertPlain(1), postgres: pgInsertPlain,
	},
	{
		Name: "insert-many-1000", Clients: 1, What: "insertMany of 1,000 documents of 1 KB",
		Others: []string{sideStandalone},
		mongo:  insertPlain(insertBatch),
	},
	{
		Name: "cities-find-id", Reads: true, Clients: 1, What: "one of 150,000 cities by _id",
		mongo: cityByID, postgres: pgCityByID,
	},
	{
		Name: "cities-near-20", Reads: true, Clients: 1, What: "the 20 cities nearest to one (PostgreSQL: on a plane, by a GiST index)",
		mongo: citiesNear, postgres: pgCitiesNear,
	},
	{
		Name: "cities-within-country", Reads: true, Clients: 1, What: "the cities in a polygon of 18 corners as large as France, counted; cities a second",
		mongo: citiesWithin, postgres: pgCitiesWithin,
	},
	{
		Name: "cities-index", Clients: 1, What: "the index of 150,000 cities made and dropped; cities a second",
		mongo: citiesIndex, postgres: pgCitiesIndex,
	},
	{
		Name: "text-search-usual", Reads: true, Clients: 1, What: "of 100,000 texts of 100 words, the 20 best for one of two words that one in ten has (PostgreSQL: tsvector and GIN)",
		mongo: textSearch(usualWords), postgres: pgTextSearch(usualWords),
	},
	{
		Name: "text-search-frequent", Reads: true, Clients: 1,
		What:  "the same for two words that every second text has",
		mongo: textSearch(frequentWords), postgres: pgTextSearch(frequentWords),
	},
	{
		Name: "text-index", Clients: 1, What: "the index of 20,000 texts of 100 words made and dropped; texts a second",
		mongo: textBuild, postgres: pgTextBuild,
	},
}

const (
	topicName     = "topic-publish-40-listeners"
	topicBusyName = "topic-publish-40-listeners-16"
)

const (
	groupPatterns = "Patterns beside PostgreSQL"
	groupLog      = "What the log and transactions cost"
	groupPlaces   = "Geography"
	groupText     = "Text"
)

// allPatternClaims returns the claims about the patterns.
func allPatternClaims() []claim {
	var all []claim
	for _, p := range patterns {
		if p.Peer > 0 {
			all = append(all, claim{
				Name: fmt.Sprintf("%s ÷ PostgreSQL", p.Name), Group: groupPatterns,
				Target: patternGain * p.Peer, Unit: "x",
				value: ratio(p.Name, sideSheaf, p.Name, sidePostgres),
			})
		}
	}
	return append(all,
		claim{
			"insert, 16 clients, with the log ÷ without", groupLog, 0.7, false, "x",
			ratio("insert-16", sideSheaf, "insert-16", sideStandalone),
		},
		claim{
			"insertMany of 1,000 with the log ÷ without", groupLog, 0.7, false, "x",
			ratio("insert-many-1000", sideSheaf, "insert-many-1000", sideStandalone),
		},
		claim{
			"transaction of two updates ÷ the two updates", groupLog, 0.4, false, "x",
			ratio("transfer-2", sideSheaf, "two-updates", sideSheaf),
		},
		claim{
			"{$inc} of one document ÷ of 10,000", groupLog, 0.5, false, "x",
			ratio("inc-hot", sideSheaf, "inc-spread", sideSheaf),
		},
		claim{
			"the 20 nearest ÷ a find by _id", groupPlaces, 0.2, false, "x",
			ratio("cities-near-20", sideSheaf, "cities-find-id", sideSheaf),
		},
		claim{"cities within a country/s", groupPlaces, 300_000, false, "/s", rate("cities-within-country", sideSheaf)},
		claim{"cities indexed/s", groupPlaces, 60_000, false, "/s", rate("cities-index", sideSheaf)},
		claim{
			"the 20 best texts for two usual words", groupText, 3, true, "ms",
			millis("text-search-usual", sideSheaf),
		},
		claim{
			"the 20 best texts for two frequent words", groupText, 3, true, "ms",
			millis("text-search-frequent", sideSheaf),
		},
		claim{"texts of 100 words indexed/s", groupText, 8_000, false, "/s", rate("text-index", sideSheaf)},
		claim{
			"embedded, messages/s into a topic with 40 listeners", groupLog, 20_000, false, "/s",
			rate(topicBusyName, sideEmbedded),
		},
	)
}
