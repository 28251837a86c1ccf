package oplogtest_test

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

func (w *workload) create() {
	command := bson.D{{"create", w.coll()}}
	options := pick(w, "options",
		bson.D{},
		bson.D{{"capped", true}, {"size", 150}},
		bson.D{{"capped", true}, {"size", 4096}, {"max", 3}},
		bson.D{{
			"clusteredIndex",
			bson.D{{"key", bson.D{{"_id", 1}}}, {"unique", true}},
		}},
		bson.D{
			{"viewOn", w.coll()},
			{"pipeline", bson.A{bson.D{{"$match", bson.D{{"x", 1}}}}}},
		},
		bson.D{{"collation", bson.D{{"locale", "en"}, {"strength", 2}}}},
		bson.D{{"validator", bson.D{{"x", bson.D{{"$ne", "s"}}}}}},
		bson.D{{"changeStreamPreAndPostImages", bson.D{{"enabled", true}}}},
		bson.D{{"timeseries", bson.D{{"timeField", "t"}, {"metaField", "m"}}}},
		bson.D{
			{"timeseries", bson.D{{"timeField", "t"}}},
			{"expireAfterSeconds", 1 << 30},
		},
	)
	_ = w.run(w.ctx, w.db(), append(command, options...))
}

func (w *workload) drop() {
	if pick(w, "database", false, false, false, true) {
		_ = w.run(w.ctx, w.db(), bson.D{{"dropDatabase", 1}})
		return
	}
	_ = w.run(w.ctx, w.db(), bson.D{{"drop", w.coll()}})
}

func (w *workload) rename() {
	from := w.db()
	to := from
	if rapid.Bool().Draw(w.T, "across") {
		to = w.db()
	}
	_ = w.run(w.ctx, "admin", bson.D{
		{"renameCollection", from + "." + w.coll()},
		{"to", to + "." + w.coll()},
		{"dropTarget", rapid.Bool().Draw(w.T, "dropTarget")},
	})
}

func (w *workload) capped() {
	size := bson.E{"size", pick(w, "size", 100, 200, 4096)}
	if rapid.Bool().Draw(w.T, "convert") {
		_ = w.run(w.ctx, w.db(), bson.D{{"convertToCapped", w.coll()}, size})
		return
	}
	_ = w.run(w.ctx, w.db(),
		bson.D{{"cloneCollectionAsCapped", w.coll()}, {"toCollection", w.coll()}, size})
}

func (w *workload) modify() {
	options := pick(w, "modify",
		bson.D{{"validator", bson.D{}}},
		bson.D{
			{"validator", bson.D{{"y", bson.D{{"$ne", 1}}}}},
			{"validationAction", "warn"},
		},
		bson.D{{"changeStreamPreAndPostImages", bson.D{{"enabled", true}}}},
		bson.D{{"changeStreamPreAndPostImages", bson.D{{"enabled", false}}}},
		bson.D{{"cappedSize", 120}},
		bson.D{{"cappedMax", 2}},
		bson.D{{"expireAfterSeconds", 1 << 29}},
		bson.D{{"expireAfterSeconds", "off"}},
		bson.D{{"timeseries", bson.D{{"granularity", "hours"}}}},
		bson.D{{"viewOn", w.coll()}, {"pipeline", bson.A{}}},
		bson.D{{"index", bson.D{{"name", "x"}, {"hidden", true}}}},
		bson.D{{"index", bson.D{{"name", "x"}, {"hidden", false}}}},
		bson.D{{"index", bson.D{{"name", "ttl"}, {"expireAfterSeconds", 77}}}},
	)
	_ = w.run(w.ctx, w.db(), append(bson.D{{"collMod", w.coll()}}, options...))
}

func (w *workload) index() {
	if rapid.Bool().Draw(w.T, "drop") {
		_ = w.run(w.ctx, w.db(),
			bson.D{
				{"dropIndexes", w.coll()},
				{"index", pick(w, "index", "x", "ttl", "u", "*")},
			})
		return
	}
	spec := pick(w, "spec",
		bson.D{{"key", bson.D{{"x", 1}}}, {"name", "x"}},
		bson.D{
			{"key", bson.D{{"x", 1}}},
			{"name", "u"},
			{"unique", true},
		},
		bson.D{
			{"key", bson.D{{"t", 1}}},
			{"name", "ttl"},
			{"expireAfterSeconds", 1 << 29},
		},
		bson.D{
			{"key", bson.D{{"y", -1}, {"x", 1}}},
			{"name", "yx"},
			{"sparse", true},
		},
	)
	_ = w.run(w.ctx, w.db(), bson.D{{"createIndexes", w.coll()}, {"indexes", bson.A{spec}}})
}

// results runs commands that write their results into a collection.
func (w *workload) results() {
	to := w.coll()
	if rapid.Bool().Draw(w.T, "mapReduce") {
		_ = w.run(w.ctx, w.db(), bson.D{
			{"mapReduce", w.coll()},
			{"map", "function() { emit(this.x, 1) }"},
			{"reduce", "function(k, v) { return Array.sum(v) }"},
			{"out", bson.D{{pick(w, "action", "replace", "merge", "reduce"), to}}},
		})
		return
	}
	last := pick(w, "stage",
		bson.D{{"$out", to}},
		bson.D{{"$out", bson.D{{"db", w.db()}, {"coll", to}}}},
		bson.D{{"$out", bson.D{
			{"db", "a"},
			{"coll", to},
			{"timeseries", bson.D{{"timeField", "t"}}},
		}}},
		bson.D{{"$merge", to}},
	)
	_ = w.run(w.ctx, w.db(),
		bson.D{
			{"aggregate", w.coll()},
			{"pipeline", bson.A{last}},
			{"cursor", bson.D{}},
		})
}

// series writes to a collection as if it were a time series, which it may be.
func (w *workload) series() {
	coll := w.coll()
	if pick(w, "delete", false, false, false, true) {
		q := pick(w, "which", bson.D{}, bson.D{{"m", 1}},
			bson.D{{"t", bson.D{{"$lt", w.at()}}}})
		_ = w.run(w.ctx, w.db(),
			bson.D{
				{"delete", coll},
				{"deletes", bson.A{bson.D{{"q", q}, {"limit", 0}}}},
			})
		return
	}
	docs := bson.A{}
	for range rapid.IntRange(1, 5).Draw(w.T, "measurements") {
		docs = append(docs, bson.D{{"t", w.at()}, {"m", w.id() % 2}, {"v", w.id()}})
	}
	_ = w.run(w.ctx, w.db(), bson.D{{"insert", coll}, {"documents", docs}})
}
