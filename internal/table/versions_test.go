package table_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock/clocktest"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// counting is a compiler that counts its calls.
type counting struct {
	schematest.Compiler
	partials, validators int
}

func (c *counting) Partial(doc bsonx.Doc, co *collation.Collator) (table.Predicate, error) {
	c.partials++
	return c.Compiler.Partial(doc, co)
}

func (c *counting) Validator(doc bsonx.Doc, co *collation.Collator) (table.Validator, error) {
	c.validators++
	return c.Compiler.Validator(doc, co)
}

// TestVersionsShare adds indexes to a collection one by one. Each version must compile only the new
// index and share the rest with the previous version.
func TestVersionsShare(t *testing.T) {
	t.Parallel()
	counts := &counting{}
	s, err := schema.Open(mem.New(), counts, slog.New(slog.DiscardHandler), table.Options{})
	schematest.NoError(t, err)
	t.Cleanup(s.Close)
	c, err := schema.Create(s, "d", "c", catalog.KindCollection, bsonx.NewDoc("validator", bsonx.NewDoc("a", 1)))
	schematest.NoError(t, err)
	const indexes = 5
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		schematest.NoError(t, schema.CreateIndexes(t.Context(), s, c, []bsonx.Doc{bsonx.NewDoc(
			"v", 2, "key", bsonx.NewDoc(name, 1), "name", name, "partialFilterExpression", bsonx.NewDoc("n", 1))}))
		c = s.Lookup("d", "c")
	}
	if len(c.Indexes) != indexes || counts.partials != indexes || counts.validators != 1 {
		t.Errorf("%d indexes: %d partial filters and %d validators were compiled", len(c.Indexes), counts.partials, counts.validators)
	}
	schematest.NoError(t, schematest.Insert(s, c, bsonx.NewDoc("_id", 1, "a", bsonx.NewArray(1, 2), "n", 2)))
	if c.Indexes[0].Multikey() == nil || s.Lookup("d", "c").Indexes[0].Multikey() == nil {
		t.Error("a shared index must learn of arrays")
	}
}

// TestHistoryEndsIdle checks that snapshots older than the window are released although nothing is
// written any more, together with the versions of collections that they keep in memory.
func TestHistoryEndsIdle(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Unix(1000, 0))
	engine := mem.New()
	s := schematest.OpenLogged(t, engine, table.Options{Clock: clock})
	defer s.Close()
	_, err := schema.Create(s, "d", "c", catalog.KindCollection, nil)
	schematest.NoError(t, err)
	for range 5 {
		schematest.NoError(t, s.History().Take())
	}
	for range 200 {
		clock.Advance(time.Minute)
		if engine.Stats().OpenSnapshots == 1 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the history has %d snapshots after hours", engine.Stats().OpenSnapshots)
}

// TestUsesCountSinceTheClock checks that the uses of an index are counted since the time of the
// store's clock.
func TestUsesCountSinceTheClock(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Unix(1000, 0))
	s := schematest.OpenLogged(t, mem.New(), table.Options{Clock: clock})
	defer s.Close()
	clock.Advance(time.Minute)
	c, err := schema.Ensure(s, "db", "c")
	schematest.NoError(t, err)
	if _, since := c.IDUses().Count(); !since.Equal(time.Unix(1060, 0)) {
		t.Errorf("the _id index is counted since %v", since)
	}
}
