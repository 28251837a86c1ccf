package command_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestCommitQuorum creates indexes with each kind of commitQuorum, on a set of one member and on a
// standalone server.
func TestCommitQuorum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quorum             any
		member, standalone int
	}{
		{1, 0, 2},
		{0, 0, 2},
		{1.5, 0, 2},
		{"majority", 0, 2},
		{"votingMembers", 0, 2},
		{nil, 0, 0},
		{2, 278, 2},
		{"x", 79, 2},
		{"", 9, 9},
		{-1, 9, 9},
		{51, 9, 9},
		{true, 14, 14},
		{bson.D{}, 14, 14},
		{bson.A{}, 14, 14},
	} {
		for _, standalone := range []bool{false, true} {
			db := sheaftest.Open(t, &sheaf.Options{Standalone: standalone}).Client().Database("quorum")
			index := bson.D{{"key", bson.D{{"a", 1}}}, {"name", "a"}}
			err := db.RunCommand(t.Context(),
				bson.D{{"createIndexes", "c"}, {"indexes", bson.A{index}}, {"commitQuorum", c.quorum}}).Err()
			want := c.member
			if standalone {
				want = c.standalone
			}
			if got := int(errorCode(t, err)); got != want {
				t.Errorf("commitQuorum %v, standalone %v: error %d, want %d: %v", c.quorum, standalone, got, want, err)
			}
		}
	}
}

// TestEmptyListing checks that an empty listing opens no cursor, even with batchSize 0.
func TestEmptyListing(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("listing")
	if err := db.CreateCollection(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]bool{"c": true, "d": false} {
		var reply struct {
			Cursor struct{ ID int64 }
		}
		cmd := bson.D{
			{"listCollections", 1},
			{"filter", bson.D{{"name", name}}},
			{"cursor", bson.D{{"batchSize", 0}}},
		}
		if err := db.RunCommand(t.Context(), cmd).Decode(&reply); err != nil {
			t.Fatal(err)
		}
		if got := reply.Cursor.ID != 0; got != open {
			t.Errorf("collections called %s: a cursor is open: %v, want %v", name, got, open)
		}
	}
}
