package command_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestBatchesAfterAMove changes documents between two batches so that they no longer match the
// query. No plan may return them from data that it kept since the first batch.
func TestBatchesAfterAMove(t *testing.T) {
	t.Parallel()
	h := newHotPath(t, 0)
	one, both := bsonx.NewDoc("a", 1), bsonx.NewDoc("$in", []bsonx.Value{bsonx.Int32(1), bsonx.Int32(2)})
	or := bsonx.NewDoc("$or", []bsonx.Doc{one, bsonx.NewDoc("a", 2)})
	byB := bsonx.NewDoc("b", 1)
	for name, find := range map[string]bsonx.Doc{
		"merge of scans": bsonx.NewDoc("filter", bsonx.NewDoc("a", both), "sort", byB, "hint", "ab"),
		"merge of an or": bsonx.NewDoc("filter", or, "sort", byB),
		"or":             bsonx.NewDoc("filter", or),
		"scan":           bsonx.NewDoc("filter", bsonx.NewDoc("a", both), "hint", "ab"),
		"index order":    bsonx.NewDoc("filter", bsonx.NewDoc("a", both), "hint", "b"),
		"merge multikey": bsonx.NewDoc("filter", bsonx.NewDoc("m", both), "sort", byB, "hint", "mb"),
		"sort of keys": bsonx.NewDoc("filter", bsonx.NewDoc("a", bsonx.NewDoc("$gt", 0, "$lt", 5)), "sort",
			byB, "hint", "ab", "limit", 11),
		"collection scan": bsonx.NewDoc("filter", bsonx.NewDoc("a", both), "hint", bsonx.NewDoc("$natural", 1)),
	} {
		t.Run(name, func(t *testing.T) {
			h.tb = t
			h.run(bsonx.NewDoc("drop", "c", "$db", "db"))
			var indexes []bsonx.Doc
			for _, ix := range []struct {
				name string
				key  bsonx.Doc
			}{{"ab", bsonx.NewDoc("a", 1, "b", 1)}, {"b", byB}, {"mb", bsonx.NewDoc("m", 1, "b", 1)}} {
				indexes = append(indexes, bsonx.NewDoc("key", ix.key, "name", ix.name))
			}
			h.run(bsonx.NewDoc("createIndexes", "c", "indexes", indexes, "$db", "db"))
			for i := range 12 {
				a := bsonx.Int32(int32(1 + i%2))
				m := bsonx.ValueOf([]bsonx.Value{a, bsonx.Int32(int32(10 + i))})
				h.run(insertOne(bsonx.NewDoc("_id", i, "a", a, "b", i, "m", m)))
			}
			reply := h.run(with(bsonx.NewDoc("find", "c"), "batchSize", 2, "filter", find.Lookup("filter"),
				"sort", orEmpty(find.Lookup("sort")),
				"hint", find.Lookup("hint"), "limit", find.Lookup("limit"), "$db", "db"))
			cursor := reply.Lookup("cursor").Doc()
			id := cursor.Lookup("id").Int64()
			got := idsOf(cursor.Lookup("firstBatch"))
			gone := bsonx.NewDoc("$set", bsonx.NewDoc("a", 9, "m", 9))
			move := bsonx.NewDoc("q", bsonx.NewDoc("_id", bsonx.NewDoc("$nin", got)), "u", gone, "multi", true)
			h.run(bsonx.NewDoc("update", "c", "updates", []bsonx.Doc{move}, "$db", "db"))
			more := h.run(bsonx.NewDoc("getMore", id, "collection", "c", "$db", "db")).Lookup("cursor").Doc()
			if left := idsOf(more.Lookup("nextBatch")); len(left) > 0 {
				t.Errorf("after %v were read the others were moved; the next batch has %v", got, left)
			}
		})
	}
}

func orEmpty(v bsonx.Value) bsonx.Value {
	if v.IsMissing() {
		return bsonx.Document(bsonx.Empty)
	}
	return v
}

func idsOf(batch bsonx.Value) []bsonx.Value {
	var ids []bsonx.Value
	for _, v := range batch.Doc().Values() {
		ids = append(ids, v.Doc().Lookup("_id").Clone())
	}
	return ids
}

// TestReturnKeyWithSort checks returnKey with a sort order that no index has.
func TestReturnKeyWithSort(t *testing.T) {
	t.Parallel()
	h := newHotPath(t, 0)
	h.run(bsonx.NewDoc("createIndexes", "c", "indexes",
		[]bsonx.Doc{bsonx.NewDoc("key", bsonx.NewDoc("a", 1), "name", "a")}, "$db", "db"))
	for i := range 5 {
		h.run(insertOne(bsonx.NewDoc("_id", i, "a", i, "b", -i)))
	}
	for _, skip := range []int{0, 2} {
		find := bsonx.NewDoc("find", "c", "filter",
			bsonx.NewDoc("a", bsonx.NewDoc("$gt", 0)), "sort", bsonx.NewDoc("b", 1),
			"returnKey", true, "skip", skip, "$db", "db")
		var got []string
		for _, v := range h.run(find).Lookup("cursor").Doc().Lookup("firstBatch").Doc().Values() {
			got = append(got, bsonx.FormatShell(v))
		}
		var want []string
		for a := 4 - skip; a > 0; a-- {
			want = append(want, fmt.Sprintf("{ a: %d }", a))
		}
		if !slices.Equal(got, want) {
			t.Errorf("skip %d: %v, want %v", skip, got, want)
		}
	}
}
