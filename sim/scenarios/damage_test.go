package scenarios_test

import "go.mongodb.org/mongo-driver/v2/bson"

// damages returns what is broken of each scenario.
func damages() map[string][]damage {
	job := damage{"a job is in one of the states", one("jobs", where("state", "open"), set("state", "odd"))}
	counted := damage{"a job that was fetched is done", gone("jobs", where("state", "done"))}
	message := damage{"a message has a topic", one("topics", bson.D{}, set("topic", 1))}
	return map[string][]damage{
		"insert": {
			{"as it was inserted", one("documents", bson.D{}, set("text", "other"))},
			{"what was inserted is there", gone("documents", bson.D{})},
		},
		"metadata-find": {
			{"a document has a key once", one("objects", bson.D{}, bson.D{{Key: "$push", Value: where("metadata", bson.D{{Key: "key", Value: "make"}, {Key: "value", Value: 1}})}})},
			{"readers change nothing", gone("objects", bson.D{})},
		},
		"queue-publish":        {job, {"a job that was put is there", gone("jobs", where("kind", "sim"))}},
		"queue-fetch-fifo":     {counted, job},
		"queue-fetch-priority": {counted, job},
		"queue-work":           {{"a job that was worked on is done", gone("jobs", where("state", "done"))}, {"a job has a time", one("jobs", bson.D{}, set("at", 1))}},
		"topic-publish":        {message},
		"topic-listen": {
			{"no message is left out", one("listeners", bson.D{{Key: "received", Value: bson.D{{Key: "$gt", Value: 1}}}}, bson.D{{Key: "$inc", Value: where("received", -1)}})},
			{"a message is delivered once", one("listeners", bson.D{}, set("twice", 1))},
			message,
		},
	}
}
