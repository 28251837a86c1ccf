package recorded

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// texts are strings, many of them not UTF-8: stray, missing and overlong bytes, half of a surrogate
// pair, Latin-1.
var texts = []string{
	"", "a", "z", "\x7f", "é", "\xe9t\xe9", "\xff", "a\xff", "a\xffb", "\xc3", "\xc3\xa9\xc3", "\xed\xa0\x80",
	"\xc0\x80", "\xf5\x80\x80\x80",
	"\x80", "A\xffB", " \xff ", "1\xff", "\xff\xff", "a b\xffc d", "\ufffd", "\xe2\x82",
}

// textStages are operations on the field v of every document: one in a $project, and others where
// they are allowed.
var textStages = []string{
	`{"$toUpper":"$v"}`, `{"$toLower":"$v"}`, `{"$strLenCP":"$v"}`, `{"$strLenBytes":"$v"}`,
	`{"$substrCP":["$v",0,2]}`, `{"$substrCP":["$v",1,1]}`,
	`{"$substrBytes":["$v",0,1]}`, `{"$substrBytes":["$v",1,1]}`, `{"$indexOfCP":["$v","b"]}`,
	`{"$indexOfBytes":["$v","b"]}`, `{"$split":["$v"," "]}`,
	`{"$trim":{"input":"$v"}}`, `{"$ltrim":{"input":"$v","chars":"aé"}}`,
	`{"$concat":["x","$v"]}`, `{"$strcasecmp":["$v","A"]}`,
	`{"$cmp":["$v","b"]}`, `{"$toString":"$v"}`, `{"$convert":{"input":"$v","to":"int","onError":"bad"}}`,
	`{"$convert":{"input":"$v","to":"double","onError":"bad"}}`,
	`{"$convert":{"input":"$v","to":"date","onError":"bad"}}`, `{"$convert":{"input":"$v","to":"objectId","onError":"bad"}}`,
	`{"$convert":{"input":"$v","to":"bool"}}`, `{"$convert":{"input":"$v","to":"binData","format":"utf8","onError":"bad"}}`,
	`{"$replaceAll":{"input":"$v","find":"a","replacement":"x"}}`, `{"$replaceOne":{"input":"$v","find":"b","replacement":"é"}}`,
	`{"$regexMatch":{"input":"$v","regex":"a"}}`, `{"$regexFind":{"input":"$v","regex":"b"}}`,
	`{"$regexFindAll":{"input":"$v","regex":"."}}`,
	`{"$in":["$v",["a","z"]]}`, `{"$setUnion":[["$v"],["a"]]}`,
	`{"$arrayToObject":[[["$v",1]]]}`, `{"$objectToArray":"$o"}`,
	`{"$type":"$v"}`, `{"$literal":"$v"}`, `{"$reverseArray":[["$v","a"]]}`,
	`{"$mergeObjects":["$o",{"x":1}]}`, `{"$bsonSize":"$o"}`,
	`{"$setField":{"field":"k","input":"$o","value":"$v"}}`, `{"$max":["$v","é"]}`, `{"$toHashedIndexKey":"$v"}`,
}

// textFilters are predicates on the field v.
var textFilters = []string{
	`{"v":{"$regex":"a"}}`, `{"v":{"$regex":"^a"}}`, `{"v":{"$regex":"b$"}}`, `{"v":{"$regex":"."}}`,
	`{"v":{"$regex":"A","$options":"i"}}`,
	`{"v":{"$gt":"a"}}`, `{"v":{"$lt":"é"}}`, `{"v":{"$in":["a","é"]}}`,
	`{"v":{"$not":{"$regex":"a"}}}`, `{"v":{"$type":"string"}}`,
	`{"$expr":{"$gt":["$v","z"]}}`, `{"$jsonSchema":{"properties":{"v":{"maxLength":1}}}}`,
	`{"$jsonSchema":{"properties":{"v":{"minLength":3}}}}`,
	`{"$jsonSchema":{"properties":{"v":{"pattern":"a"}}}}`,
}

func d(kv ...any) bson.D {
	out := make(bson.D, 0, len(kv)/2)
	for i := 0; i < len(kv); i += 2 {
		out = append(out, bson.E{kv[i].(string), kv[i+1]})
	}
	return out
}

// textCases use strings that JSON cannot express, in filters, names, updates and sorts.
func textCases() []question {
	var out []question
	add := func(name string, cmd bson.D) {
		out = append(out, question{
			name: name,
			ask:  func(ctx context.Context, db *mongo.Database) string { return answer(ctx, db, cmd) },
		})
	}
	for _, s := range textStages {
		e := bsonxtest.MustParseD(`{"e":` + s + `}`)[0].Value
		for i := range texts {
			pipeline := bson.A{d("$match", d("_id", int32(i))), d("$project", d("e", e))}
			add(fmt.Sprintf("stage %s of %q", s, texts[i]),
				d("aggregate", "plain", "pipeline", pipeline, "cursor", d()))
		}
	}
	for _, coll := range []string{"plain", "indexed", "folded", "hashed", "compound"} {
		for _, f := range textFilters {
			add(coll+" filter "+f, d("find", coll, "filter", bsonxtest.MustParseD(f), "sort",
				d("_id", 1), "projection", d("_id", 1)))
		}
		for _, text := range texts {
			for _, op := range []string{"$eq", "$gt", "$lte", "$ne"} {
				add(fmt.Sprintf("%s %s %q", coll, op, text),
					d("find", coll, "filter", d("v", d(op, text)), "sort", d("_id", 1), "projection", d("_id", 1)))
			}
			add(fmt.Sprintf("%s regex %q", coll, text),
				d("find", coll, "filter", d("v", bson.Regex{Pattern: text}), "sort",
					d("_id", 1), "projection", d("_id", 1)))
			add(fmt.Sprintf("%s anchored %q", coll, text),
				d("find", coll, "filter", d("v", bson.Regex{Pattern: "^" + text}), "sort",
					d("_id", 1), "projection", d("_id", 1)))
		}
		for _, by := range []int{1, -1} {
			add(fmt.Sprint(coll, " sort ", by), d("find", coll, "sort", d("v", by, "_id", 1)))
		}
		add(coll+" distinct", d("distinct", coll, "key", "v"))
		add(coll+" group", d("aggregate", coll, "pipeline",
			bson.A{d("$group", d("_id", "$v", "n", d("$sum", 1))), d("$sort", d("_id", 1))}, "cursor", d()))
		add(coll+" covered", d("find", coll, "filter", d("v", d("$gte", "")), "projection",
			d("v", 1, "_id", 0), "sort", d("v", 1)))
	}
	for _, locale := range []string{"en", "fr", "de", "sv"} {
		for strength := 1; strength <= 3; strength++ {
			add(fmt.Sprint("collated ", locale, strength),
				d("find", "plain", "sort", d("v", 1, "_id", 1), "projection", d("_id", 1),
					"collation", d("locale", locale, "strength", strength)))
		}
	}
	return append(out, nameCases()...)
}

// nameCases use strings that are not UTF-8 in field names and paths, and also write.
func nameCases() []question {
	var out []question
	add := func(name string, cmds ...bson.D) {
		out = append(out, question{name: name, ask: func(ctx context.Context, db *mongo.Database) string {
			var all []string
			for _, cmd := range cmds {
				all = append(all, answer(ctx, db, cmd))
			}
			return strings.Join(all, " ")
		}})
	}
	update := func(u any) bson.D { return d("update", "names", "updates", bson.A{d("q", d("_id", 1), "u", u)}) }
	read := d("find", "names", "filter", d("_id", 1))
	fresh := func(doc bson.D) []bson.D {
		return []bson.D{
			d("delete", "names", "deletes", bson.A{d("q", d(), "limit", 0)}),
			d("insert", "names", "documents", bson.A{doc}),
		}
	}
	for _, n := range []string{"\xff", "a\xff", "\xc3", "\xed\xa0\x80"} {
		doc := d("_id", 1, n, "v\xff", "o", d(n, 1, "x", bson.A{n}))
		for name, u := range map[string]any{
			"set": d("$set", d("o."+n, 2)), "new": d("$set", d("p."+n, n)), "unset": d("$unset", d(n, 1)),
			"rename": d("$rename", d(n, "r"+n)),
			"push":   d("$push", d("o.x", d("$each", bson.A{n, "a"}, "$sort", 1))), "replace": d(n, n),
			"pull":     d("$pull", d("o.x", n)),
			"pipeline": bson.A{d("$set", d("q", d("$concat", bson.A{"$" + n, n})))}, "inc": d("$inc", d("o."+n, 1)),
			"max": d("$max", d(n, "\xfe")),
		} {
			add(fmt.Sprintf("update %s %q", name, n), append(fresh(doc), update(u), read)...)
		}
		for name, cmd := range map[string]bson.D{
			"filter":     d("find", "names", "filter", d("o."+n, 1)),
			"projection": d("find", "names", "projection", d("o."+n, 1)),
			"exclusion":  d("find", "names", "projection", d(n, 0)), "sort": d("find", "names", "sort", d(n, 1)),
			"distinct": d("distinct", "names", "key", "o."+n),
			"getField": d("aggregate", "names", "pipeline",
				bson.A{d("$project", d("e", d("$getField", n)))}, "cursor", d()),
			"path": d("aggregate", "names", "pipeline", bson.A{d("$project", d("e", "$o."+n))}, "cursor", d()),
			"group": d("aggregate", "names", "pipeline",
				bson.A{d("$group", d("_id", "$"+n, "k"+n, d("$sum", 1)))}, "cursor", d()),
			"objects": d("aggregate", "names", "pipeline",
				bson.A{d("$project", d("e", d("$objectToArray", "$o")))}, "cursor", d()),
			"unwind": d("aggregate", "names", "pipeline",
				bson.A{d("$unwind", "$o.x"), d("$sortByCount", "$o.x")}, "cursor", d()),
			"lookup": d("aggregate", "names", "pipeline",
				bson.A{d("$lookup", d("from", "names", "localField", n, "foreignField", n, "as", "j"+n))},
				"cursor", d()),
			"count": d("count", "names", "query", d(n, "v\xff")),
			"type":  d("find", "names", "filter", d(n, d("$type", 2))),
		} {
			add(fmt.Sprintf("read %s %q", name, n), append(fresh(doc), cmd)...)
		}
		add(fmt.Sprintf("index %q", n),
			append(fresh(doc), d("createIndexes", "names", "indexes",
				bson.A{d("key", d(n, 1, "o."+n, -1), "name", "i"+n)}),
				d("find", "names", "filter", d(n, "v\xff"), "hint", d(n, 1, "o."+n, -1)),
				d("dropIndexes", "names", "index", "i"+n))...)
		add(fmt.Sprintf("upsert %q", n), d("delete", "names", "deletes", bson.A{d("q", d(), "limit", 0)}),
			d("update", "names", "updates", bson.A{d("q", d("_id", n), "u", d("$set", d(n, n)), "upsert", true)}),
			d("findAndModify", "names", "query", d("_id", n), "update", d("$set", d("x", 1)), "new", true))
	}
	return out
}

// answer runs a command and returns the relevant part of its reply, with every byte beyond ASCII
// quoted.
func answer(ctx context.Context, db *mongo.Database, cmd bson.D) string {
	reply, failed := run(ctx, db, cmd)
	if failed != "" {
		return failed
	}
	var out []string
	elements, _ := reply.Elements()
	for _, e := range elements {
		switch e.Key() {
		case "cursor":
			docs, _ := e.Value().Document().Lookup("firstBatch").Array().Values()
			for _, doc := range docs {
				out = append(out, rendered(doc))
			}
		case "n", "nModified", "values", "value", "writeErrors", "upserted":
			out = append(out, e.Key()+":"+rendered(e.Value()))
		}
	}
	return strings.Join(out, " ")
}

// rendered returns a value as ASCII text.
func rendered(v bson.RawValue) string {
	switch v.Type {
	case bson.TypeString:
		return fmt.Sprintf("%+q", v.StringValue())
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		var out []string
		elements, _ := bson.Raw(v.Value).Elements()
		for _, e := range elements {
			if e.Key() == "errmsg" {
				continue
			}
			if v.Type == bson.TypeArray {
				out = append(out, rendered(e.Value()))
				continue
			}
			out = append(out, fmt.Sprintf("%+q:%s", e.Key(), rendered(e.Value())))
		}
		if v.Type == bson.TypeArray {
			return "[" + strings.Join(out, ",") + "]"
		}
		return "{" + strings.Join(out, ",") + "}"
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble: // equal numbers may have different types
		f, _ := v.AsFloat64OK()
		return fmt.Sprint(f)
	default:
		return fmt.Sprintf("%s %+q", v.Type, v.Value)
	}
}

// anyBytesErrors are MongoDB's codes for text that must be UTF-8: patterns and their subjects, and
// parts of strings.
var anyBytesErrors = []string{"error 51091", "error 51156", "error 34456", "error 34458", "error 28656", "error 28657"}

// TestTextsOfAnyBytes stores strings and field names that are not UTF-8, and queries them in every
// way. An index must not change an answer, and an operation may fail only where MongoDB requires
// UTF-8. The answers are compared with one another, not with a file.
func TestTextsOfAnyBytes(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("bytes")
	indexes := map[string]bson.D{
		"plain": nil, "indexed": d("v", 1), "hashed": d("v", "hashed"),
		"compound": d("o.k", 1, "v", -1), "folded": d("v", 1),
	}
	for coll, key := range indexes {
		var docs bson.A
		for i, text := range texts {
			docs = append(docs, d("_id", int32(i), "v", text, "o", d("k", text, text+"n", int32(1))))
		}
		if coll == "folded" {
			must(t, db, d("create", coll, "collation", d("locale", "en", "strength", 2)))
		}
		must(t, db, d("insert", coll, "documents", docs))
		if key != nil {
			must(t, db, d("createIndexes", coll, "indexes", bson.A{d("key", key, "name", "i")}))
		}
	}
	got := map[string]string{}
	for _, q := range textCases() {
		got[q.name] = q.ask(t.Context(), db)
		if strings.Contains(got[q.name], "error") && !slices.Contains(anyBytesErrors, got[q.name]) {
			t.Errorf("%s: %s", q.name, got[q.name])
		}
	}
	for name, want := range got {
		question, ok := strings.CutPrefix(name, "plain ")
		for _, coll := range []string{"indexed", "hashed", "compound"} {
			if other := got[coll+" "+question]; ok && coll+question != "indexeddistinct" &&
				sorted(other) != sorted(want) {
				t.Errorf("%s: %s, in %s: %s", name, want, coll, other)
			}
		}
	}
	for _, coll := range []string{"plain", "indexed", "hashed", "compound"} {
		for _, by := range []int{1, -1} {
			checkOrder(t, db, coll, by)
		}
	}
}

// sorted sorts the words of an answer, so that answers in different orders can be compared.
func sorted(answer string) string {
	parts := strings.Fields(answer)
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// checkOrder compares a sort with the order of the strings' bytes, and the returned strings with
// the stored ones.
func checkOrder(t *testing.T, db *mongo.Database, coll string, by int) {
	t.Helper()
	want := slices.Clone(texts)
	slices.SortFunc(want, func(a, b string) int { return by * strings.Compare(a, b) })
	cursor, err := db.Collection(coll).Find(t.Context(), bson.D{}, options.Find().SetSort(d("v", by)))
	if err != nil {
		t.Fatal(err)
	}
	var docs []bson.D
	if err := cursor.All(t.Context(), &docs); err != nil {
		t.Fatal(err)
	}
	for i, doc := range docs {
		text := want[i]
		if back := d("_id", int32(slices.Index(texts, text)), "v", text, "o",
			d("k", text, text+"n", int32(1))); !reflect.DeepEqual(doc, back) {
			t.Errorf("%s by %d: %+q, want %+q", coll, by, doc, back)
		}
	}
	if len(docs) != len(texts) {
		t.Errorf("%s by %d: %d documents of %d", coll, by, len(docs), len(texts))
	}
}
