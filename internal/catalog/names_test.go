package catalog

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage/mem"
)

func TestDatabaseNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a", "A-b_c", "été", "0", "$", strings.Repeat("x", limits.DatabaseNameBytes),
		strings.Repeat("é", limits.DatabaseNameBytes/2),
	} {
		want := mongoerr.Code(0)
		if strings.ContainsRune(name, '$') {
			want = mongoerr.InvalidNamespace
		}
		if code := mongoerr.CodeOf(CheckDatabaseName(name)); code != want {
			t.Errorf("%q: code %d, want %d", name, code, want)
		}
	}
	for _, name := range []string{
		"", "a.b", ".", "a b", " ", "a/b", `a\b`, `a"b`, "a$b", "a\x00b", "\x00",
		strings.Repeat("x", limits.DatabaseNameBytes+1), strings.Repeat("é", limits.DatabaseNameBytes/2+1),
	} {
		if code := mongoerr.CodeOf(CheckDatabaseName(name)); code != mongoerr.InvalidNamespace {
			t.Errorf("%q: code %d", name, code)
		}
	}
}

func TestCollectionNames(t *testing.T) {
	t.Parallel()
	const db = "db"
	longest := strings.Repeat("x", limits.NamespaceBytes-len(db)-1)
	tests := []struct {
		name     string
		use, new mongoerr.Code
	}{
		{"a", 0, 0},
		{"a.b", 0, 0},
		{"a..b", 0, 0},
		{"a b\"/\\", 0, 0},
		{"été", 0, 0},
		{"system.js", 0, 0},
		{"systems", 0, 0},
		{"a.system.b", 0, mongoerr.BadValue},
		{"", mongoerr.InvalidNamespace, mongoerr.InvalidNamespace},
		{".", mongoerr.InvalidNamespace, mongoerr.InvalidNamespace},
		{".a", mongoerr.InvalidNamespace, mongoerr.InvalidNamespace},
		{"a.", 0, 0},
		{"a\x00", mongoerr.InvalidNamespace, mongoerr.InvalidNamespace},
		{"a$b", 0, mongoerr.InvalidNamespace},
		{"$a", 0, mongoerr.InvalidNamespace},
		{"system.indexes", 0, mongoerr.InvalidNamespace},
		{"system.", 0, mongoerr.InvalidNamespace},
		{longest, 0, 0},
		{longest + "x", 0, mongoerr.InvalidNamespace},
	}
	for _, tt := range tests {
		if code := mongoerr.CodeOf(CheckCollectionName(db, tt.name)); code != tt.use {
			t.Errorf("use of %.20q: code %d, want %d", tt.name, code, tt.use)
		}
		if code := mongoerr.CodeOf(CheckNewCollection(db, tt.name)); code != tt.new {
			t.Errorf("new %.20q: code %d, want %d", tt.name, code, tt.new)
		}
	}
}

func TestDatabasesThatDifferByCase(t *testing.T) {
	t.Parallel()
	c, err := Open[any](mem.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, c, "Shop", "a")
	for name, want := range map[string]mongoerr.Code{
		"Shop": 0, "shop": mongoerr.DatabaseDifferCase,
		"SHOP": mongoerr.DatabaseDifferCase, "shops": 0,
	} {
		if code := mongoerr.CodeOf(c.CheckNewDatabase(name)); code != want {
			t.Errorf("%s: code %d, want %d", name, code, want)
		}
	}
}

// put adds an entry with an index.
func put(t testing.TB, c *Catalog[any], db, name string) *Collection[any] {
	t.Helper()
	var entry *Collection[any]
	err := c.Update(func(ch *Change[any]) error {
		entry = &Collection[any]{ID: ch.NewID(), DB: db, Name: name, Kind: KindCollection, Options: bsonx.Empty}
		spec := bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("a", 1), "name", "a_1", "unique", true)
		entry.Indexes = []*Index{NewIndex(ch.NewID(), spec)}
		ch.Put(entry)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entry
}
