package metadata_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/metadata"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

func designs(t *testing.T, test func(t *testing.T, d metadata.Design)) {
	t.Parallel()
	for _, d := range []metadata.Design{metadata.Array, metadata.Wildcard} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

func open(t testing.TB, db *mongo.Database, d metadata.Design) *metadata.Store {
	t.Helper()
	s, err := metadata.New(db, metadata.Config{Design: d})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EnsureIndexes(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// picture has the attributes of worked example W068 of the book.
var picture = []metadata.Attribute{
	{"File name", "img_1771"},
	{"File size", int32(32764)},
	{"MIME type", "image/jpeg"},
	{"Image size", bson.D{{"width", int32(480)}, {"height", int32(360)}}},
	{"Camera make", "Canon"},
	{"Camera model", "Canon PowerShot S40"},
	{"Image timestamp", bson.NewDateTimeFromTime(time.Date(2014, 4, 14, 13, 1, 0, 0, time.UTC))},
	{"Image number", "117-1771"},
	{"Exposure time", "1/500 s"},
	{"Aperture", 4.9},
	{"Exposure bias", "0 EV"},
	{"Flash", "No, auto"},
}

func insert(t testing.TB, db *mongo.Database, s *metadata.Store, id any, attributes ...metadata.Attribute) {
	t.Helper()
	if _, err := db.Collection("objects").InsertOne(t.Context(), bson.D{{"_id", id}, {"owner", "peter"}}); err != nil {
		t.Fatal(err)
	}
	for _, a := range attributes {
		if err := s.Set(t.Context(), id, a.Key, a.Value); err != nil {
			t.Fatal(err)
		}
	}
}

// find returns the _ids of the documents that satisfy the conditions.
func find(t testing.TB, s *metadata.Store, conditions ...metadata.Condition) string {
	t.Helper()
	cur, err := s.Find(t.Context(), conditions...)
	if err != nil {
		return err.Error()
	}
	var docs []struct {
		ID any `bson:"_id"`
	}
	if err := cur.All(t.Context(), &docs); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, doc := range docs {
		out = append(out, fmt.Sprint(doc.ID))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestFind(t *testing.T) {
	designs(t, func(t *testing.T, d metadata.Design) {
		db := patterntest.Open(t)
		s := open(t, db, d)
		insert(t, db, s, "img", picture...)
		insert(t, db, s, "other", metadata.Attribute{"Flash", "Yes"}, metadata.Attribute{"File size", "32764"},
			metadata.Attribute{"Note", nil})
		insert(t, db, s, "bare")
		for name, c := range map[string]struct {
			conditions []metadata.Condition
			want       string
		}{
			"all": {nil, "bare img other"},
			"two keys": {[]metadata.Condition{
				metadata.Equal("MIME type", "image/jpeg"),
				metadata.Equal("Flash", "No, auto"),
			}, "img"},
			"one of two": {[]metadata.Condition{
				metadata.Equal("MIME type", "image/jpeg"),
				metadata.Equal("Flash", "Yes"),
			}, ""},
			"in":                {[]metadata.Condition{metadata.In("Flash", "Yes", "No, auto")}, "img other"},
			"exists":            {[]metadata.Condition{metadata.Exists("Note")}, "other"},
			"a number":          {[]metadata.Condition{metadata.Equal("File size", 32764.0)}, "img"},
			"a range":           {[]metadata.Condition{metadata.Between("File size", 32764, 32765)}, "img"},
			"below it":          {[]metadata.Condition{metadata.Between("File size", nil, 32764)}, ""},
			"any":               {[]metadata.Condition{metadata.Between("File size", nil, nil)}, "img other"},
			"of strings":        {[]metadata.Condition{metadata.Between("File size", "", nil)}, "other"},
			"a document":        {[]metadata.Condition{metadata.Equal("Image size", picture[3].Value)}, "img"},
			"another document":  {[]metadata.Condition{metadata.Equal("Image size", bson.D{{"width", 480}})}, ""},
			"a value elsewhere": {[]metadata.Condition{metadata.Equal("Camera make", "image/jpeg")}, ""},
			"two of one key": {[]metadata.Condition{
				metadata.Between("Aperture", 4, nil),
				metadata.Between("Aperture", nil, 5),
			}, "img"},
			"a date": {[]metadata.Condition{metadata.Between("Image timestamp",
				time.Date(2014, 1, 1, 0, 0, 0, 0, time.UTC), nil)}, "img"},
		} {
			if got := find(t, s, c.conditions...); got != c.want {
				t.Errorf("%s: %q, and not %q", name, got, c.want)
			}
		}
	})
}

func TestSet(t *testing.T) {
	designs(t, func(t *testing.T, d metadata.Design) {
		db := patterntest.Open(t)
		s := open(t, db, d)
		insert(t, db, s, 1, picture...)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		want := slices.Clone(picture)
		set := func(i int, v any) {
			t.Helper()
			must(s.Set(t.Context(), 1, want[i].Key, v))
			want[i].Value = v
		}
		set(0, "$a.field")
		set(5, bson.D{{"$add", "x"}}) // values are not evaluated as expressions
		set(11, nil)
		must(s.Unset(t.Context(), 1, want[1].Key))
		want = slices.Delete(want, 1, 2)
		must(s.Unset(t.Context(), 1, "nothing"))
		must(s.Set(t.Context(), 1, "last", int64(7)))
		want = append(want, metadata.Attribute{"last", int64(7)})
		got, err := s.Get(t.Context(), 1)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, and not %v: %v", got, want, err)
		}
		sound(t, s)
	})
}

func sound(t *testing.T, s *metadata.Store) {
	t.Helper()
	violations, err := s.Check(t.Context())
	if err != nil || len(violations) > 0 {
		t.Errorf("%v, %v", violations, err)
	}
}

func TestRefusals(t *testing.T) {
	designs(t, func(t *testing.T, d metadata.Design) {
		db, ctx := patterntest.Open(t), t.Context()
		s, err := metadata.New(db, metadata.Config{Design: d, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		insert(t, db, s, 1, metadata.Attribute{"a", 1}, metadata.Attribute{"b", 2})
		_, findErr := s.Find(ctx, metadata.Exists(""))
		_, getErr := s.Get(ctx, 2)
		for name, c := range map[string]struct{ err, want error }{
			"a third":            {s.Set(ctx, 1, "c", 3), metadata.ErrTooMany},
			"one of the two":     {s.Set(ctx, 1, "b", 3), nil},
			"set of nothing":     {s.Set(ctx, 2, "a", 1), metadata.ErrNotFound},
			"unset of nothing":   {s.Unset(ctx, 2, "a"), metadata.ErrNotFound},
			"get of nothing":     {getErr, metadata.ErrNotFound},
			"an empty key":       {s.Set(ctx, 1, "", 1), metadata.ErrBadKey},
			"find an empty key":  {findErr, metadata.ErrBadKey},
			"unset an empty key": {s.Unset(ctx, 1, ""), metadata.ErrBadKey},
			"a key with a dollar": {
				s.Set(ctx, 1, "$b", 1),
				onlyIf(d == metadata.Wildcard, metadata.ErrBadKey, metadata.ErrTooMany),
			},
			"a key with a dot": {
				s.Set(ctx, 1, "b.c", 1),
				onlyIf(d == metadata.Wildcard, metadata.ErrBadKey, metadata.ErrTooMany),
			},
			"an array": {s.Set(ctx, 1, "b", []string{"x"}), onlyIf(d == metadata.Wildcard, metadata.ErrBadValue, nil)},
			"bytes":    {s.Set(ctx, 1, "b", []byte("x")), nil},
		} {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: %v, and not %v", name, c.err, c.want)
			}
		}
	})
}

func onlyIf(yes bool, err, otherwise error) error {
	if yes {
		return err
	}
	return otherwise
}

func TestFacets(t *testing.T) {
	designs(t, func(t *testing.T, d metadata.Design) {
		db := patterntest.Open(t)
		s := open(t, db, d)
		for i := range 12 {
			insert(t, db, s, i, metadata.Attribute{"camera", fmt.Sprint("c", i%3%2)},
				metadata.Attribute{"flash", i%2 == 0}, metadata.Attribute{"n", i})
		}
		insert(t, db, s, "bare")
		got, err := s.Facets(t.Context(), []string{"camera", "n", "nothing"}, 2, metadata.Equal("flash", true))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]metadata.Facet{"camera": {{"c0", 4}, {"c1", 2}}, "n": {{int32(0), 1}, {int32(2), 1}}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, and not %v", got, want)
		}
	})
}

// TestIntersection compares a query of several conditions with the queries of the single
// conditions, and both designs with each other.
func TestIntersection(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	byDesign := map[metadata.Design]*metadata.Store{}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range []metadata.Design{metadata.Array, metadata.Wildcard} {
		s, err := metadata.New(db, metadata.Config{Design: d, Collection: d.String()})
		if err != nil {
			t.Fatal(err)
		}
		byDesign[d] = s
	}
	for i := range 100 {
		var entries bson.A
		fields := bson.D{}
		for _, key := range []string{"a", "b", "c"} {
			if v := []any{nil, 1, 2, 2.5, "x", "1", true}[rng.IntN(7)]; rng.IntN(4) > 0 {
				entries = append(entries, bson.D{{"key", key}, {"value", v}})
				fields = append(fields, bson.E{key, v})
			}
		}
		for name, v := range map[string]any{"array": entries, "wildcard": fields} {
			if _, err := db.Collection(name).InsertOne(t.Context(), bson.D{{"_id", i}, {"metadata", v}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		conditions := rapid.SliceOfN(rapid.Custom(anyCondition), 1, 3).Draw(rt, "conditions")
		want := find(t, byDesign[metadata.Array], conditions[0])
		for _, c := range conditions[1:] {
			one := strings.Fields(find(t, byDesign[metadata.Array], c))
			want = strings.Join(slices.DeleteFunc(strings.Fields(want),
				func(id string) bool { return !slices.Contains(one, id) }), " ")
		}
		for d, s := range byDesign {
			if got := find(t, s, conditions...); got != want {
				rt.Errorf("%v: %s, and not %s", d, got, want)
			}
		}
	})
}

func anyCondition(t *rapid.T) metadata.Condition {
	key := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key")
	value := rapid.SampledFrom([]any{1, 2, 3, "x", "y", true})
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return metadata.Equal(key, value.Draw(t, "value"))
	case 1:
		return metadata.In(key, value.Draw(t, "value"), value.Draw(t, "other"))
	case 2:
		return metadata.Between(key, rapid.IntRange(0, 3).Draw(t, "low"), rapid.IntRange(0, 3).Draw(t, "high"))
	default:
		return metadata.Exists(key)
	}
}

func TestConcurrent(t *testing.T) {
	designs(t, func(t *testing.T, d metadata.Design) {
		const workers, rounds = 6, 30
		db := patterntest.Open(t)
		s := open(t, db, d)
		insert(t, db, s, 1)
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range rounds {
					for _, key := range []string{fmt.Sprint("own", w), "shared"} {
						if err := s.Set(t.Context(), 1, key, i); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		sound(t, s)
		if got, err := s.Get(t.Context(), 1); err != nil || len(got) != workers+1 {
			t.Errorf("%v, %v", got, err)
		}
		for w := range workers {
			if find(t, s, metadata.Equal(fmt.Sprint("own", w), rounds-1)) != "1" {
				t.Errorf("the last value of worker %d is lost", w)
			}
		}
	})
}

// TestCrash lets the process die at every point: each Set has happened if the server has executed
// its command.
func TestCrash(t *testing.T) {
	designs(t, func(t *testing.T, d metadata.Design) {
		patterntest.Crash(t, patterntest.Scenario{
			Setup: func(t *testing.T, db *mongo.Database) {
				insert(t, db, open(t, db, d), 1, metadata.Attribute{"a", 1})
			},
			Operation: func(ctx context.Context, db *mongo.Database) error {
				s, err := metadata.New(db, metadata.Config{Design: d})
				return errors.Join(err, s.Set(ctx, 1, "a", 2), s.Set(ctx, 1, "b", 3))
			},
			After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
				s := open(t, db, d)
				sound(t, s)
				n := len(strings.Fields(find(t, s, metadata.Equal("a", 2)) + " " + find(t, s, metadata.Equal("b", 3))))
				if n != death.Commands && !death.Survived {
					t.Errorf("%v: %d are set", death, n)
				}
			},
		})
	})
}

func TestNoScans(t *testing.T) {
	designs(t, func(t *testing.T, d metadata.Design) {
		server := patterntest.Start(t)
		s := open(t, server.Database(), d)
		insert(t, server.Database(), s, 1, picture...)
		n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
			watched := open(t, db, d)
			find(t, watched, metadata.Equal("Flash", "No, auto"), metadata.Between("Aperture", 4, 5))
			find(t, watched, metadata.Exists("Flash"))
			find(t, watched, metadata.In("Flash", "Yes", "No"))
			_, err := watched.Facets(ctx, []string{"Camera make"}, 10, metadata.Equal("Flash", "No, auto"))
			_, getErr := watched.Get(ctx, 1)
			if err := errors.Join(err, getErr, watched.Set(ctx, 1, "Flash", "Yes"),
				watched.Unset(ctx, 1, "Flash")); err != nil {
				t.Error(err)
			}
		})
		if n != 7 {
			t.Errorf("%d commands were explained", n)
		}
	})
}

func TestViolations(t *testing.T) {
	t.Parallel()
	entry := func(key, value any) bson.D { return bson.D{{"key", key}, {"value", value}} }
	for name, c := range map[string]struct {
		design metadata.Design
		stored any
		rule   string
	}{
		"twice":          {metadata.Array, bson.A{entry("a", 1), entry("a", 2)}, metadata.RuleOnce},
		"no key":         {metadata.Array, bson.A{entry("", 1)}, metadata.RuleShape},
		"no array":       {metadata.Array, "x", metadata.RuleShape},
		"too many":       {metadata.Array, bson.A{entry("a", 1), entry("b", 1), entry("c", 1)}, metadata.RuleLimit},
		"no document":    {metadata.Wildcard, 7, metadata.RuleShape},
		"an array":       {metadata.Wildcard, bson.D{{"a", bson.A{1}}}, metadata.RuleShape},
		"too many, too":  {metadata.Wildcard, bson.D{{"a", 1}, {"b", 1}, {"c", 1}}, metadata.RuleLimit},
		"a key with dot": {metadata.Wildcard, bson.D{{"a.b", 1}}, metadata.RuleShape},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			s, err := metadata.New(db, metadata.Config{Design: c.design, Limit: 2})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Collection("objects").
				InsertOne(t.Context(), bson.D{{"_id", 1}, {"metadata", c.stored}}); err != nil {
				t.Fatal(err)
			}
			violations, err := s.Check(t.Context())
			if err != nil || len(violations) != 1 || violations[0].Rule != c.rule {
				t.Errorf("%v, %v", violations, err)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	for _, cfg := range []metadata.Config{{Design: 2}, {Design: -1}, {Limit: -1}} {
		if _, err := metadata.New(db, cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
	s, err := metadata.New(db, metadata.Config{Owner: "owner"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Errorf("shard: %v", err)
	}
	if got := fmt.Sprint(s.ShardKeys()); !strings.Contains(got, "owner") {
		t.Errorf("shard keys: %s", got)
	}
}
