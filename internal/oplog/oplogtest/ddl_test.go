package oplogtest_test

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

func (w *workload) create() {
	command := bson.D{{Key: "create", Value: w.coll()}}
	options := pick(w, "options",
		bson.D{},
		bson.D{{Key: "capped", Value: true}, {Key: "size", Value: 150}},
		bson.D{{Key: "capped", Value: true}, {Key: "size", Value: 4096}, {Key: "max", Value: 3}},
		bson.D{{
			Key:   "clusteredIndex",
			Value: bson.D{{Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "unique", Value: true}},
		}},
		bson.D{
			{Key: "viewOn", Value: w.coll()},
			{Key: "pipeline", Value: bson.A{bson.D{{Key: "$match", Value: bson.D{{Key: "x", Value: 1}}}}}},
		},
		bson.D{{Key: "collation", Value: bson.D{{Key: "locale", Value: "en"}, {Key: "strength", Value: 2}}}},
		bson.D{{Key: "validator", Value: bson.D{{Key: "x", Value: bson.D{{Key: "$ne", Value: "s"}}}}}},
		bson.D{{Key: "changeStreamPreAndPostImages", Value: bson.D{{Key: "enabled", Value: true}}}},
		bson.D{{Key: "timeseries", Value: bson.D{{Key: "timeField", Value: "t"}, {Key: "metaField", Value: "m"}}}},
		bson.D{
			{Key: "timeseries", Value: bson.D{{Key: "timeField", Value: "t"}}},
			{Key: "expireAfterSeconds", Value: 1 << 30},
		},
	)
	_ = w.run(w.ctx, w.db(), append(command, options...))
}

func (w *workload) drop() {
	if pick(w, "database", false, false, false, true) {
		_ = w.run(w.ctx, w.db(), bson.D{{Key: "dropDatabase", Value: 1}})
		return
	}
	_ = w.run(w.ctx, w.db(), bson.D{{Key: "drop", Value: w.coll()}})
}

func (w *workload) rename() {
	from := w.db()
	to := from
	if rapid.Bool().Draw(w.T, "across") {
		to = w.db()
	}
	_ = w.run(w.ctx, "admin", bson.D{
		{Key: "renameCollection", Value: from + "." + w.coll()},
		{Key: "to", Value: to + "." + w.coll()},
		{Key: "dropTarget", Value: rapid.Bool().Draw(w.T, "dropTarget")},
	})
}

func (w *workload) capped() {
	size := bson.E{Key: "size", Value: pick(w, "size", 100, 200, 4096)}
	if rapid.Bool().Draw(w.T, "convert") {
		_ = w.run(w.ctx, w.db(), bson.D{{Key: "convertToCapped", Value: w.coll()}, size})
		return
	}
	_ = w.run(w.ctx, w.db(),
		bson.D{{Key: "cloneCollectionAsCapped", Value: w.coll()}, {Key: "toCollection", Value: w.coll()}, size})
}

func (w *workload) modify() {
	options := pick(w, "modify",
		bson.D{{Key: "validator", Value: bson.D{}}},
		bson.D{
			{Key: "validator", Value: bson.D{{Key: "y", Value: bson.D{{Key: "$ne", Value: 1}}}}},
			{Key: "validationAction", Value: "warn"},
		},
		bson.D{{Key: "changeStreamPreAndPostImages", Value: bson.D{{Key: "enabled", Value: true}}}},
		bson.D{{Key: "changeStreamPreAndPostImages", Value: bson.D{{Key: "enabled", Value: false}}}},
		bson.D{{Key: "cappedSize", Value: 120}},
		bson.D{{Key: "cappedMax", Value: 2}},
		bson.D{{Key: "expireAfterSeconds", Value: 1 << 29}},
		bson.D{{Key: "expireAfterSeconds", Value: "off"}},
		bson.D{{Key: "timeseries", Value: bson.D{{Key: "granularity", Value: "hours"}}}},
		bson.D{{Key: "viewOn", Value: w.coll()}, {Key: "pipeline", Value: bson.A{}}},
		bson.D{{Key: "index", Value: bson.D{{Key: "name", Value: "x"}, {Key: "hidden", Value: true}}}},
		bson.D{{Key: "index", Value: bson.D{{Key: "name", Value: "x"}, {Key: "hidden", Value: false}}}},
		bson.D{{Key: "index", Value: bson.D{{Key: "name", Value: "ttl"}, {Key: "expireAfterSeconds", Value: 77}}}},
	)
	_ = w.run(w.ctx, w.db(), append(bson.D{{Key: "collMod", Value: w.coll()}}, options...))
}

func (w *workload) index() {
	if rapid.Bool().Draw(w.T, "drop") {
		_ = w.run(w.ctx, w.db(),
			bson.D{
				{Key: "dropIndexes", Value: w.coll()},
				{Key: "index", Value: pick(w, "index", "x", "ttl", "u", "*")},
			})
		return
	}
	spec := pick(w, "spec",
		bson.D{{Key: "key", Value: bson.D{{Key: "x", Value: 1}}}, {Key: "name", Value: "x"}},
		bson.D{
			{Key: "key", Value: bson.D{{Key: "x", Value: 1}}},
			{Key: "name", Value: "u"},
			{Key: "unique", Value: true},
		},
		bson.D{
			{Key: "key", Value: bson.D{{Key: "t", Value: 1}}},
			{Key: "name", Value: "ttl"},
			{Key: "expireAfterSeconds", Value: 1 << 29},
		},
		bson.D{
			{Key: "key", Value: bson.D{{Key: "y", Value: -1}, {Key: "x", Value: 1}}},
			{Key: "name", Value: "yx"},
			{Key: "sparse", Value: true},
		},
	)
	_ = w.run(w.ctx, w.db(), bson.D{{Key: "createIndexes", Value: w.coll()}, {Key: "indexes", Value: bson.A{spec}}})
}

// results runs commands that write their results into a collection.
func (w *workload) results() {
	to := w.coll()
	if rapid.Bool().Draw(w.T, "mapReduce") {
		_ = w.run(w.ctx, w.db(), bson.D{
			{Key: "mapReduce", Value: w.coll()},
			{Key: "map", Value: "function() { emit(this.x, 1) }"},
			{Key: "reduce", Value: "function(k, v) { return Array.sum(v) }"},
			{Key: "out", Value: bson.D{{Key: pick(w, "action", "replace", "merge", "reduce"), Value: to}}},
		})
		return
	}
	last := pick(w, "stage",
		bson.D{{Key: "$out", Value: to}},
		bson.D{{Key: "$out", Value: bson.D{{Key: "db", Value: w.db()}, {Key: "coll", Value: to}}}},
		bson.D{{Key: "$out", Value: bson.D{
			{Key: "db", Value: "a"},
			{Key: "coll", Value: to},
			{Key: "timeseries", Value: bson.D{{Key: "timeField", Value: "t"}}},
		}}},
		bson.D{{Key: "$merge", Value: to}},
	)
	_ = w.run(w.ctx, w.db(),
		bson.D{
			{Key: "aggregate", Value: w.coll()},
			{Key: "pipeline", Value: bson.A{last}},
			{Key: "cursor", Value: bson.D{}},
		})
}

// series writes to a collection as if it were a time series, which it may be.
func (w *workload) series() {
	coll := w.coll()
	if pick(w, "delete", false, false, false, true) {
		q := pick(w, "which", bson.D{}, bson.D{{Key: "m", Value: 1}},
			bson.D{{Key: "t", Value: bson.D{{Key: "$lt", Value: w.at()}}}})
		_ = w.run(w.ctx, w.db(),
			bson.D{
				{Key: "delete", Value: coll},
				{Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: q}, {Key: "limit", Value: 0}}}},
			})
		return
	}
	docs := bson.A{}
	for range rapid.IntRange(1, 5).Draw(w.T, "measurements") {
		docs = append(docs, bson.D{{Key: "t", Value: w.at()}, {Key: "m", Value: w.id() % 2}, {Key: "v", Value: w.id()}})
	}
	_ = w.run(w.ctx, w.db(), bson.D{{Key: "insert", Value: coll}, {Key: "documents", Value: docs}})
}
