package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// batchCase is a command that replies in batches.
type batchCase struct {
	// replies is the name of the function that creates the command's cursor.
	replies string
	// fill creates the data that the command returns, one item for each size. It returns the names
	// of the items in order.
	fill func(b *batchRun, sizes []int) []string
	// open returns the command, without batch sizes.
	open func(b *batchRun) bsonx.Doc
	// item returns the name that fill gave to a document.
	item func(doc bsonx.Doc) string
	// limit, if not nil, adds a limit of n documents to the command.
	limit func(cmd bsonx.Doc, n int) bsonx.Doc
	// plain is true for commands with a field batchSize. Other commands have it in the field
	// cursor.
	plain bool
	admin bool
	// tailable is true if the cursor does not end by itself.
	tailable bool
}

// batchRun is one run of a case.
type batchRun struct {
	*hotPath
	t    *rapid.T
	coll string
}

var batchCases = map[string]batchCase{
	"find": {
		replies: "runFind", fill: insertSized, item: byID, plain: true, limit: withLimit,
		open: func(b *batchRun) bsonx.Doc { return bsonx.NewDoc("find", b.coll) },
	},
	"find with a sort": {
		replies: "runFind", fill: insertSized, item: byID, plain: true, limit: withLimit,
		open: func(b *batchRun) bsonx.Doc { return bsonx.NewDoc("find", b.coll, "sort", bsonx.NewDoc("n", 1)) },
	},
	"tailable find": {
		replies: "runFind", item: byID, plain: true, tailable: true,
		fill: func(b *batchRun, sizes []int) []string {
			b.mustRun(bsonx.NewDoc("create", b.coll, "capped", true, "size", 1<<20))
			return insertSized(b, sizes)
		},
		open: func(b *batchRun) bsonx.Doc { return bsonx.NewDoc("find", b.coll, "tailable", true) },
	},
	"find on a view": {
		replies: "runStages", item: byID, plain: true, limit: withLimit,
		fill: func(b *batchRun, sizes []int) []string {
			b.mustRun(bsonx.NewDoc("create", b.coll+"view", "viewOn", b.coll, "pipeline", []bsonx.Doc{}))
			return insertSized(b, sizes)
		},
		open: func(b *batchRun) bsonx.Doc { return bsonx.NewDoc("find", b.coll+"view") },
	},
	"aggregate": {
		replies: "runStages", fill: insertSized, item: byID, limit: withLimitStage,
		open: func(b *batchRun) bsonx.Doc { return bsonx.NewDoc("aggregate", b.coll, "pipeline", []bsonx.Doc{}) },
	},
	"aggregate with a sort": {
		replies: "runStages", fill: insertSized, item: byID, limit: withLimitStage,
		open: func(b *batchRun) bsonx.Doc {
			return bsonx.NewDoc("aggregate", b.coll, "pipeline",
				[]bsonx.Doc{bsonx.NewDoc("$sort", bsonx.NewDoc("n", 1))})
		},
	},
	"aggregate with a stage": {
		replies: "runStages", fill: insertSized, item: byID, limit: withLimitStage,
		open: func(b *batchRun) bsonx.Doc {
			return bsonx.NewDoc("aggregate", b.coll, "pipeline", []bsonx.Doc{bsonx.NewDoc("$unwind", "$n")})
		},
	},
	"change stream": {
		replies: "runChangeStream", fill: insertSized, tailable: true,
		item: func(doc bsonx.Doc) string { return byID(doc.Lookup("documentKey").Doc()) },
		open: openStream,
	},
	"change stream to its end": {
		replies: "runChangeStream",
		fill: func(b *batchRun, sizes []int) []string {
			items := insertSized(b, sizes)
			if len(sizes) == 0 {
				b.mustRun(bsonx.NewDoc("create", b.coll))
			}
			b.mustRun(bsonx.NewDoc("drop", b.coll))
			return append(items, "drop", "invalidate")
		},
		item: func(doc bsonx.Doc) string {
			if key := doc.Lookup("documentKey"); !key.IsMissing() {
				return byID(key.Doc())
			}
			return doc.Lookup("operationType").Str()
		},
		open: openStream,
	},
	"listCollections": {
		replies: "replyList", item: byName,
		fill: func(b *batchRun, sizes []int) []string {
			var names []string
			for i, size := range sizes {
				names = append(names, fmt.Sprintf("%s.%03d", b.coll, i))
				validator := bsonx.NewDoc("a", bsonx.NewDoc("$ne", strings.Repeat("x", size)))
				b.mustRun(bsonx.NewDoc("create", names[i], "validator", validator))
			}
			return names
		},
		open: func(b *batchRun) bsonx.Doc {
			name := bsonx.NewDoc("$regex", "^"+b.coll+"\\.")
			return bsonx.NewDoc("listCollections", 1, "filter", bsonx.NewDoc("name", name))
		},
	},
	"listIndexes": {
		replies: "replyList", item: byName,
		fill: func(b *batchRun, sizes []int) []string {
			names := []string{"_id_"}
			b.mustRun(bsonx.NewDoc("create", b.coll))
			for i, size := range sizes {
				names = append(names, fmt.Sprintf("%03d", i))
				partial := bsonx.NewDoc("a", strings.Repeat("x", size))
				spec := bsonx.NewDoc("key", bsonx.NewDoc(fmt.Sprint("f", i), 1), "name", names[i+1],
					"partialFilterExpression", partial)
				b.mustRun(bsonx.NewDoc("createIndexes", b.coll, "indexes", []bsonx.Doc{spec}))
			}
			return names
		},
		open: func(b *batchRun) bsonx.Doc { return bsonx.NewDoc("listIndexes", b.coll) },
	},
	"bulkWrite": {
		replies: "replyList", admin: true,
		fill: func(b *batchRun, sizes []int) []string {
			var items []string
			for i := range sizes {
				items = append(items, fmt.Sprint(i))
			}
			b.mustRun(bsonx.NewDoc("create", b.coll+"sizes"))
			for i, size := range sizes {
				doc := bsonx.NewDoc("_id", i, "size", size)
				b.mustRun(bsonx.NewDoc("insert", b.coll+"sizes", "documents", []bsonx.Doc{doc}))
			}
			return items
		},
		open: func(b *batchRun) bsonx.Doc {
			var ops []bsonx.Doc
			sizes := b.mustRun(bsonx.NewDoc("find", b.coll+"sizes", "batchSize", 1000)).
				Lookup("cursor").Doc().Lookup("firstBatch")
			for i, v := range sizes.Doc().Values() {
				size, _ := v.Doc().Lookup("size").AsInt64()
				id := fmt.Sprintf("%03d%s", i, strings.Repeat("x", int(size)))
				change := bsonx.NewDoc("$set", bsonx.NewDoc("a", 1))
				ops = append(ops, bsonx.NewDoc("update", 0, "filter", bsonx.NewDoc("_id", id),
					"updateMods", change, "upsert", true))
			}
			return bsonx.NewDoc("bulkWrite", 1, "ops", ops, "nsInfo", []bsonx.Doc{bsonx.NewDoc("ns", "db."+b.coll)})
		},
		item: func(doc bsonx.Doc) string { return fmt.Sprint(doc.Lookup("idx").Int32()) },
	},
}

func openStream(b *batchRun) bsonx.Doc {
	stage := bsonx.NewDoc("$changeStream", bsonx.NewDoc("startAtOperationTime", bsonx.Timestamp(1, 1)))
	return bsonx.NewDoc("aggregate", b.coll, "pipeline", []bsonx.Doc{stage})
}

func byID(doc bsonx.Doc) string   { return fmt.Sprint(doc.Lookup("_id").Int32()) }
func byName(doc bsonx.Doc) string { return doc.Lookup("name").Str() }

func withLimit(cmd bsonx.Doc, n int) bsonx.Doc { return with(cmd, "limit", n) }

func withLimitStage(cmd bsonx.Doc, n int) bsonx.Doc {
	var pairs []any
	for it := cmd.Iter(); it.Next(); {
		v := it.Value()
		if string(it.Key()) == "pipeline" {
			v = bsonx.ValueOf(append(v.Doc().Values(), bsonx.Document(bsonx.NewDoc("$limit", n))))
		}
		pairs = append(pairs, string(it.Key()), v)
	}
	return bsonx.NewDoc(pairs...)
}

// with returns a document with more fields appended.
func with(doc bsonx.Doc, pairs ...any) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Fields(doc)
	b.Fields(bsonx.NewDoc(pairs...))
	b.End()
	return b.Bytes()
}

// insertSized inserts one document of about each size.
func insertSized(b *batchRun, sizes []int) []string {
	var items []string
	for i, size := range sizes {
		items = append(items, fmt.Sprint(i))
		doc := bsonx.NewDoc("_id", i, "n", i, "x", strings.Repeat("x", size))
		b.mustRun(bsonx.NewDoc("insert", b.coll, "documents", []bsonx.Doc{doc}))
	}
	return items
}

// mustRun runs a command on the database db. The command must succeed.
func (b *batchRun) mustRun(cmd bsonx.Doc) bsonx.Doc {
	return slices.Clone(b.run(with(cmd, "$db", "db")))
}

// TestBatchesAreWhole reads cursors with random document and batch sizes. The batches together must
// be the whole result. A batch may exceed the size limit only if it has a single document.
func TestBatchesAreWhole(t *testing.T) {
	t.Parallel()
	h := newSetPath(t)
	collections := 0
	for name, c := range batchCases {
		t.Run(name, func(t *testing.T) {
			h.tb = t
			rapid.Check(t, func(rt *rapid.T) {
				collections++
				b := &batchRun{hotPath: h, t: rt, coll: fmt.Sprint("c", collections)}
				most := rapid.IntRange(200, 3000).Draw(rt, "bytes of a batch")
				b.checkBatches(c, most)
			})
		})
	}
}

func (b *batchRun) checkBatches(c batchCase, most int) {
	defer func() { b.svc.BatchBytes = 16 << 20 }()
	sizes := rapid.SliceOfN(rapid.IntRange(0, most+most/4), 0, 8).Draw(b.t, "sizes")
	if c.admin && len(sizes) == 0 {
		return // a bulkWrite needs at least one operation
	}
	want := c.fill(b, sizes)
	cmd := c.open(b)
	if c.limit != nil && rapid.Bool().Draw(b.t, "limited") {
		n := rapid.IntRange(1, len(sizes)+2).Draw(b.t, "limit")
		cmd = c.limit(cmd, n)
		want = want[:min(n, len(want))]
	}
	b.svc.BatchBytes = most
	size := rapid.IntRange(-1, len(sizes)+2).Draw(b.t, "batchSize")
	switch {
	case c.plain && size >= 0:
		cmd = with(cmd, "batchSize", size)
	case !c.plain && size >= 0:
		cmd = with(cmd, "cursor", bsonx.NewDoc("batchSize", size))
	case !c.plain:
		cmd = with(cmd, "cursor", bsonx.Empty)
	}
	got := b.drain(c, cmd, len(want), most)
	if !slices.Equal(got, want) {
		b.t.Fatalf("the batches have %v, want %v", got, want)
	}
}

// drain reads a cursor to its end and returns the names of its documents. It reads a tailable
// cursor until it gets an empty batch.
func (b *batchRun) drain(c batchCase, cmd bsonx.Doc, n, most int) []string {
	db := "db"
	if c.admin {
		db = "admin"
	}
	var got []string
	reply, field := b.run(with(cmd, "$db", db)), "firstBatch"
	for {
		cursor := reply.Lookup("cursor").Doc()
		batch := cursor.Lookup(field).Doc()
		docs := batch.Values()
		if len(docs) > 1 && len(batch) > most+16 {
			b.t.Fatalf("a batch of %d documents has %d bytes, more than %d", len(docs), len(batch), most)
		}
		for _, v := range docs {
			got = append(got, c.item(v.Doc()))
		}
		id := cursor.Lookup("id").Int64()
		if id == 0 || c.tailable && len(docs) == 0 && field == "nextBatch" || len(got) > n {
			return got
		}
		_, ns, _ := strings.Cut(cursor.Lookup("ns").Str(), ".")
		more := bsonx.NewDoc("getMore", id, "collection", ns, "$db", db)
		if size := rapid.IntRange(0, 3).Draw(b.t, "batchSize of getMore"); size > 0 {
			more = with(more, "batchSize", size)
		}
		if c.replies == "runChangeStream" {
			more = with(more, "maxTimeMS", 1)
		}
		reply, field = b.run(more), "nextBatch"
	}
}

// TestBatchCasesAreComplete checks that every function that replies with a cursor has a case above.
func TestBatchCasesAreComplete(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{"runGetMore": true}
	for _, c := range batchCases {
		covered[c.replies] = true
	}
	function := regexp.MustCompile(`(?s)\nfunc (?:\([^)]*\) )?(\w+)\([^\n]*{\n.*?\n}\n`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range function.FindAllSubmatch(text, -1) {
			if name := string(m[1]); strings.Contains(string(m[0]), "batch{") && !covered[name] {
				t.Errorf("%s: %s answers with a cursor, and no case of TestBatchesAreWhole covers it", file, name)
			}
		}
	}
}
