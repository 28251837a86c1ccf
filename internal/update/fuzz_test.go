package update_test

import (
	"bytes"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/update"
)

// FuzzApply parses and applies arbitrary updates. It states that nothing panics and the original
// document does not change. A result is well-formed, keeps _id and is within the limits. Without a
// modification the result is the original document. Indexes on paths that the update does not
// affect have the same keys.
func FuzzApply(f *testing.F) {
	docs := []string{
		`{"_id":1}`, `{"_id":{"x":1},"a":[1,[2,{"b":3}],{"b":[4]}],"n":1.5}`,
		`{"_id":1,"a":[{"b":1,"c":2}]}`, `{"_id":"s","a":{"b":{"c":[]}},"0":1,"t":{"$timestamp":{"t":0,"i":0}}}`,
	}
	updates := []string{
		`{"$set":{"a.b":1,"c":{"d":[1]}},"$unset":{"n":1},"$inc":{"x":1}}`, `{"$push":{"a":{"$each":[3,1],"$position":-1,"$sort":1,"$slice":-3}}}`,
		`{"$pull":{"a":{"$gt":1}},"$rename":{"n":"m"}}`, `{"$set":{"a.$[].b":1,"a.$[x].c":2}}`, `{"$bit":{"n":{"xor":5}},"$mul":{"a.0":2},"$max":{"a.1":9}}`,
		`{"$addToSet":{"a":{"$each":[1,2]}},"$pop":{"b":1},"$pullAll":{"c":[1]},"$currentDate":{"d":{"$type":"timestamp"}}}`, `{"b":1,"_id":1}`,
		`{"$set":{"a.$.b":1,"a.01":2}}`, `[{"$set":{"a":1}}]`, `{"$set":{"a.4.b.2":1},"$setOnInsert":{"q":1}}`,
	}
	for _, d := range docs {
		for _, u := range updates {
			f.Add([]byte(bsonxtest.ParseValue(f, d).Doc()),
				[]byte(bsonx.NewDoc("u", bsonxtest.ParseValue(f, u))), uint8(1))
		}
	}
	f.Fuzz(func(t *testing.T, rawDoc, rawUpdate []byte, flags uint8) {
		if bsonx.Validate(rawDoc, bsonx.Limits{}) != nil || bsonx.Validate(rawUpdate, bsonx.Limits{}) != nil {
			return
		}
		doc, err := update.PrepareInsert(bsonx.Doc(rawDoc), nil, anyTime)
		if err != nil {
			return
		}
		u, err := update.Parse(bsonx.Doc(rawUpdate).First().Value,
			options(expressions.Scope(), bsonx.NewArray(bsonx.NewDoc("x", bsonx.NewDoc("$gte", 1)))))
		if err != nil {
			u, err = update.Parse(bsonx.Doc(rawUpdate).First().Value, options(expressions.Scope(), bsonx.Missing))
		}
		if err != nil {
			return
		}
		env := update.Env{Now: now, MatchedIndex: int(flags >> 4), HasMatchedIndex: flags&1 != 0}
		before := doc.Clone()
		out, changed, err := u.Apply(doc, env)
		if !doc.Equal(before) {
			t.Fatal("the document was changed in place")
		}
		if err != nil {
			return
		}
		if !changed && !out.Equal(doc) {
			t.Fatal("not modified, but different")
		}
		checkStorable(t, doc.Lookup("_id"), out)
		checkAffects(t, u, doc, out)
		if made, err := update.UpsertDoc(doc, u, env); err == nil {
			checkStorable(t, made.Lookup("_id"), made)
		}
	})
}

// checkAffects compares the index keys of a document before and after an update.
func checkAffects(t *testing.T, u *update.Update, before, after bsonx.Doc) {
	t.Helper()
	for _, path := range []string{
		"a", "b", "n", "a.b", "a.c", "b.c", "a.b.c", "a.0", "a.0.b", "a.1.b", "a.b.0",
		"a.4", "c", "c.d", "x", "0",
	} {
		if u.Affects(path) {
			continue
		}
		_, g, err := index.Compile(index.Spec{Key: bsonx.NewDoc(path, 1)})
		if err != nil {
			t.Fatal(err)
		}
		var old, made index.Keys
		if err := g.Generate(before, &old); err != nil {
			continue // a document for which Generate fails cannot have been stored
		}
		if err := g.Generate(after, &made); err != nil || !sameKeys(&old, &made) {
			t.Fatalf("the index of %s sees a change from %s to %s: %v", path, toJSON(before), toJSON(after), err)
		}
	}
}

func sameKeys(a, b *index.Keys) bool {
	if a.Len() != b.Len() || !a.Multikey().Covers(b.Multikey()) {
		return false
	}
	for i := range a.Len() {
		if !bytes.Equal(a.Key(i), b.Key(i)) || !bytes.Equal(a.TypeBits(i), b.TypeBits(i)) {
			return false
		}
	}
	return true
}

func checkStorable(t *testing.T, id bsonx.Value, out bsonx.Doc) {
	t.Helper()
	if err := bsonx.Validate(out, bsonx.Limits{}); err != nil {
		t.Fatalf("malformed result: %v\n%s", err, toJSON(out))
	}
	if string(out.First().Key) != "_id" {
		t.Fatalf("_id is not first: %s", toJSON(out))
	}
	if bsonx.CompareValues(id, out.First().Value) != 0 {
		t.Fatalf("_id changed: %s", toJSON(out))
	}
	if len(out) > limits.DocumentBytes {
		t.Fatalf("result of %d bytes", len(out))
	}
	checkKeys(t, bsonx.Document(out))
}

// checkKeys checks that array keys are 0, 1 and so on.
func checkKeys(t *testing.T, v bsonx.Value) {
	n := 0
	for it := v.Doc().Iter(); it.Next(); n++ {
		if v.Type == bsonx.TypeArray && string(it.Key()) != bsonx.IndexKey(n) {
			t.Skip("the keys of an array that was given do not count")
		}
		if e := it.Value(); e.Type == bsonx.TypeDocument || e.Type == bsonx.TypeArray {
			checkKeys(t, e)
		}
	}
}
