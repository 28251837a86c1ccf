package index_test

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func pattern(d bsonx.Doc) index.Pattern {
	var p index.Pattern
	for it := d.Iter(); it.Next(); {
		n, _ := it.Value().AsFloat64()
		p = append(p, index.Field{Path: string(it.Key()), Desc: n < 0})
	}
	return p
}

// TestRecordedKeys compares with a MongoDB server's recorded results (testdata/keygen.jsonl): the
// number of keys of a document, the first and the last key, and the multikey paths, or the error.
func TestRecordedKeys(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/keygen.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	var keys index.Keys
	for lines.Scan() {
		c := bsonxtest.Parse(t, lines.Text())
		p := pattern(c.Lookup("pattern").Doc())
		keys.Reset()
		err := index.NewKeyGen(p, c.Lookup("sparse").Bool(), nil).Generate(c.Lookup("doc").Doc(), &keys)
		if got, want := outcome(t, p, &keys, err), recorded(p, c); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", bsonx.FormatShell(bsonx.Document(c)), got, want)
		}
	}
}

func outcome(t *testing.T, p index.Pattern, keys *index.Keys, err error) string {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	if err != nil {
		b.Int32("code", int32(mongoerr.CodeOf(err)))
		b.End()
		var user *mongoerr.Error
		if !errors.As(err, &user) {
			t.Fatal(err)
		}
		return bsonx.FormatShell(bsonx.Document(b.Bytes())) + user.Message
	}
	b.Int32("n", int32(keys.Len()))
	for i, f := range p {
		b.StartArrayField("multikey " + f.Path)
		parts := strings.Split(f.Path, ".")
		for j := range parts {
			if i < len(keys.Multikey()) && keys.Multikey()[i]&(1<<j) != 0 {
				b.Elem(bsonx.String(strings.Join(parts[:j+1], ".")))
			}
		}
		b.End()
	}
	if n := keys.Len(); n > 0 {
		b.Doc("first", decode(t, p, keys, 0))
		b.Doc("last", decode(t, p, keys, n-1))
	}
	b.End()
	return bsonx.FormatShell(bsonx.Document(b.Bytes()))
}

func decode(t *testing.T, p index.Pattern, keys *index.Keys, i int) bsonx.Doc {
	t.Helper()
	d, err := index.DecodeKey(p, keys.Key(i), keys.TypeBits(i))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func recorded(p index.Pattern, c bsonx.Doc) string {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	if code := c.Lookup("code"); !code.IsMissing() {
		b.Value("code", code)
		b.End()
		return bsonx.FormatShell(bsonx.Document(b.Bytes())) + c.Lookup("errmsg").Str()
	}
	b.Value("n", c.Lookup("n"))
	for _, f := range p {
		b.Value("multikey "+f.Path, c.Lookup("multikey").Doc().Lookup(f.Path))
	}
	if c.Lookup("n").Int32() > 0 {
		b.Value("first", c.Lookup("first"))
		b.Value("last", c.Lookup("last"))
	}
	b.End()
	return bsonx.FormatShell(bsonx.Document(b.Bytes()))
}
