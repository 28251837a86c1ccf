package cms_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/cms"
	"github.com/sheafdb/sheaf/patterns/lock"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

const chunkSize = 10

// editor is an editor of a site.
type editor struct {
	*cms.CMS
	t     testing.TB
	clock *patterntest.Clock
}

func open(t testing.TB, db *mongo.Database) *editor {
	t.Helper()
	e := &editor{t: t, clock: patterntest.NewClock()}
	c, err := cms.New(db, cms.Config{Env: patterns.Env{Clock: e.clock}, ChunkSize: chunkSize, Versions: 3})
	e.must(err)
	e.CMS = c
	e.must(c.EnsureIndexes(t.Context()))
	return e
}

func (e *editor) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *editor) fails(what string, err, want error) {
	e.t.Helper()
	if !errors.Is(err, want) {
		e.t.Errorf("%s: %v, and not %v", what, err, want)
	}
}

// node creates a node that is published at once.
func (e *editor) node(kind cms.Kind, title string, tags ...string) cms.Node {
	e.t.Helper()
	n, err := e.Create(e.t.Context(), cms.Metadata{
		Kind: kind, Section: "s", Title: title, Author: "ada", Tags: tags,
		Detail: cms.Detail{Text: "text", PublishOn: e.clock.Now()},
	})
	e.must(err)
	return n
}

func (e *editor) upload(n cms.Node, content string) cms.Node {
	e.t.Helper()
	n, err := e.Upload(e.t.Context(), n, "f", "text/plain", strings.NewReader(content))
	e.must(err)
	return n
}

// content reads the file of a node.
func (e *editor) content(n cms.Node) string {
	e.t.Helper()
	stream, err := e.Open(e.t.Context(), n.File)
	e.must(err)
	data, err := io.ReadAll(stream)
	e.must(err)
	e.must(stream.Close())
	return string(data)
}

// later advances the clock so that everything becomes old. The driver takes the time of files and
// chunks from the system.
func (e *editor) later() {
	e.clock.Advance(max(0, time.Since(e.clock.Now())) + 26*time.Hour)
}

func (e *editor) sound() {
	e.t.Helper()
	violations, err := e.Check(e.t.Context())
	e.must(err)
	for _, v := range violations {
		e.t.Error(v)
	}
}

func titles(nodes []cms.Node, err error) string {
	if err != nil {
		return err.Error()
	}
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.Metadata.Title
	}
	return strings.Join(out, " ")
}

// TestW047 checks that a save with an old nonce fails: Alice saves with the nonce N1, then Bob
// saves with the same nonce.
func TestW047(t *testing.T) {
	t.Parallel()
	e := open(t, patterntest.Open(t))
	n := e.node(cms.Page, "p")
	alice, bob := n.Metadata, n.Metadata
	alice.Detail.Text, bob.Detail.Text = "Alice's", "Bob's"
	saved, err := e.Edit(t.Context(), n, alice)
	e.must(err)
	if saved.Nonce == n.Nonce || saved.Revision != 2 || saved.Metadata.Detail.Text != "Alice's" {
		t.Errorf("%+v", saved)
	}
	_, err = e.Edit(t.Context(), n, bob)
	var conflict *cms.ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, cms.ErrConflict) {
		t.Fatal(err)
	}
	if conflict.Yours.Metadata.Detail.Text != "Bob's" || conflict.Theirs.Metadata.Detail.Text != "Alice's" ||
		conflict.Theirs.Nonce != saved.Nonce {
		t.Errorf("%+v", conflict)
	}
	if got, err := e.Get(t.Context(), n.ID); err != nil || got.Metadata.Detail.Text != "Alice's" {
		t.Errorf("%+v %v", got, err)
	}
	e.fails("deleting what was changed", e.Delete(t.Context(), n), cms.ErrConflict)
	_, err = e.Upload(t.Context(), n, "f", "", strings.NewReader("x"))
	e.fails("a file for what was changed", err, cms.ErrConflict)
	e.must(e.Delete(t.Context(), saved))
	_, err = e.Edit(t.Context(), saved, bob)
	e.fails("editing what is gone", err, cms.ErrNotFound)
	e.sound()
}

func TestNodes(t *testing.T) {
	t.Parallel()
	e := open(t, patterntest.Open(t))
	first, second := e.node(cms.Page, "Grüße & Küsse!"), e.node(cms.Page, "grüße küsse")
	if first.Metadata.Slug != "grüße-küsse" || second.Metadata.Slug != "grüße-küsse-2" {
		t.Errorf("%s %s", first.Metadata.Slug, second.Metadata.Slug)
	}
	if got, err := e.BySlug(t.Context(), "s", "grüße-küsse-2"); err != nil || got.ID != second.ID {
		t.Errorf("%+v %v", got, err)
	}
	m := second.Metadata
	m.Slug = first.Metadata.Slug
	_, err := e.Edit(t.Context(), second, m)
	e.fails("a slug that is used", err, cms.ErrSlug)
	_, err = e.Create(t.Context(), m)
	e.fails("a slug that is used", err, cms.ErrSlug)
	m.Section = "other"
	moved, err := e.Edit(t.Context(), second, m)
	e.must(err)
	changed := moved
	changed.Metadata.Slug = "in-memory"
	_, err = e.Edit(t.Context(), changed, changed.Metadata)
	e.fails("a base that was changed in memory", err, cms.ErrBase)
	draft, err := e.Create(t.Context(), cms.Metadata{Kind: cms.Page, Title: "draft"})
	e.must(err)
	_, err = e.BySlug(t.Context(), "", "draft")
	e.fails("a draft", err, cms.ErrNotFound)
	if !draft.Metadata.Detail.PublishOn.IsZero() {
		t.Error("a draft is published")
	}
	for _, bad := range []cms.Metadata{
		{Kind: "poem", Title: "x"},
		{Kind: cms.Page, Title: "…"},
		{Kind: cms.Page, Title: "x", Detail: cms.Detail{Text: strings.Repeat("x", cms.MaxText+1)}},
		{Kind: cms.Page, Title: "x", Tags: make([]string, cms.MaxTags+1)},
		{Kind: cms.Page, Title: "x", Author: strings.Repeat("x", cms.MaxName+1)},
	} {
		_, err := e.Create(t.Context(), bad)
		e.fails(fmt.Sprintf("%.20v", bad), err, cms.ErrBadNode)
		_, err = e.Edit(t.Context(), draft, bad)
		e.fails(fmt.Sprintf("%.20v", bad), err, cms.ErrBadNode)
	}
	e.sound()
}

func TestList(t *testing.T) {
	t.Parallel()
	e := open(t, patterntest.Open(t))
	for i := range 5 {
		if i != 3 { // two nodes have the same time
			e.clock.Advance(time.Minute)
		}
		e.node(cms.Post, fmt.Sprint(i), "all", []string{"even", "odd"}[i%2])
	}
	e.node(cms.Page, "page", "all")
	_, err := e.Create(t.Context(), cms.Metadata{
		Kind: cms.Post, Section: "s", Title: "tomorrow's", Tags: []string{"all"},
		Detail: cms.Detail{PublishOn: e.clock.Now().Add(24 * time.Hour)},
	})
	e.must(err)
	for _, c := range []struct {
		q    cms.Query
		want string
	}{
		{cms.Query{Section: "s", Kind: cms.Post}, "4 3 2 1 0"},
		{cms.Query{Section: "s"}, "page 4 3 2 1 0"},
		{cms.Query{Section: "t"}, ""},
		{cms.Query{Tag: "even"}, "4 2 0"},
		{cms.Query{Tag: "all", Kind: cms.Page}, "page"},
		{cms.Query{Tag: "all", Section: "t"}, ""},
	} {
		if got := titles(e.List(t.Context(), c.q)); got != c.want {
			t.Errorf("%+v: %q, and not %q", c.q, got, c.want)
		}
	}
	var pages []string
	for q := (cms.Query{Section: "s", Kind: cms.Post, Limit: 2}); ; {
		nodes, err := e.List(t.Context(), q)
		e.must(err)
		if len(nodes) == 0 {
			break
		}
		pages = append(pages, titles(nodes, nil))
		q.After = &nodes[len(nodes)-1]
	}
	if want := []string{"4 3", "2 1", "0"}; !slices.Equal(pages, want) {
		t.Errorf("%q, and not %q", pages, want)
	}
	tags, err := e.Tags(t.Context(), 2)
	if want := []cms.TagCount{{"all", 6}, {"even", 3}}; err != nil || !slices.Equal(tags, want) {
		t.Errorf("%v %v", tags, err)
	}
	e.clock.Advance(24 * time.Hour)
	if got := titles(e.List(t.Context(), cms.Query{Section: "s", Kind: cms.Post, Limit: 1})); got != "tomorrow's" {
		t.Error(got)
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	e := open(t, patterntest.Open(t))
	n := e.node(cms.Post, "A & B")
	site := cms.Site{
		Title: "blog", Link: "https://example.com/",
		URL: func(n cms.Node) string { return "https://example.com/" + n.Metadata.Slug },
	}
	feed := func() (rss, atom string) {
		f, err := e.Feed(t.Context(), site, cms.Query{Section: "s", Kind: cms.Post})
		e.must(err)
		rss, err = f.ToRss()
		e.must(err)
		atom, err = f.ToAtom()
		e.must(err)
		return rss, atom
	}
	id := "tag:example.com,2026-05-01:" + n.ID.Hex()
	for _, slug := range []string{"a-b", "changed"} {
		rss, atom := feed()
		for _, want := range []string{
			"<title>A &amp; B</title>", "<link>https://example.com/" + slug + "</link>",
			"<guid isPermaLink=\"false\">" + id + "</guid>",
			"<pubDate>Fri, 01 May 2026 12:00:00 +0000</pubDate>",
		} {
			if !strings.Contains(rss, want) {
				t.Errorf("%s is not in %s", want, rss)
			}
		}
		for _, want := range []string{
			"<id>" + id + "</id>",
			"<updated>2026-05-01T12:00:00Z</updated>", "<name>ada</name>",
		} {
			if !strings.Contains(atom, want) {
				t.Errorf("%s is not in %s", want, atom)
			}
		}
		m := n.Metadata
		m.Slug = "changed"
		var err error
		n, err = e.Edit(t.Context(), n, m)
		e.must(err)
	}
	site.Link = ":"
	if _, err := e.Feed(t.Context(), site, cms.Query{}); err == nil {
		t.Error("a site without an address has a feed")
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	e := open(t, db)
	n := e.node(cms.Photo, "photo")
	first := strings.Repeat("0123456789", 3) + "x"
	n = e.upload(n, first)
	if v := n.Versions[0]; e.content(n) != first || v.Length != 31 || len(v.SHA256) != 64 ||
		n.File != v.File || len(n.Uploads) != 0 {
		t.Errorf("%+v", n)
	}
	n = e.upload(n, "")
	if e.content(n) != "" {
		t.Error("an empty file is not")
	}
	reverted, err := e.Revert(t.Context(), n, n.Versions[0].File)
	e.must(err)
	if e.content(reverted) != first {
		t.Error("the first version is not shown")
	}
	_, err = e.Revert(t.Context(), n, n.Versions[0].File)
	e.fails("a version of what was changed", err, cms.ErrConflict)
	_, err = e.Revert(t.Context(), reverted, bson.NewObjectID())
	e.fails("a version that is none", err, cms.ErrNoVersion)
	n = e.upload(e.upload(reverted, "3"), "4")
	if len(n.Versions) != 3 {
		t.Errorf("%d versions", len(n.Versions))
	}
	e.sound()
	e.later()
	if done, err := e.Sweep(t.Context()); err != nil || done != (cms.Swept{Files: 1}) {
		t.Errorf("%+v %v", done, err)
	}
	_, err = e.Open(t.Context(), reverted.File)
	e.fails("a version that was swept", err, cms.ErrNoVersion)
	e.sound()
	e.must(e.Delete(t.Context(), n))
	if left, err := db.Collection("assets.chunks").CountDocuments(t.Context(), bson.D{}); err != nil || left != 0 {
		t.Errorf("%d chunks are left: %v", left, err)
	}
}

// source is a reader that returns one byte at a time, and calls a function before each byte.
type source struct {
	left    int
	between func(left int) error
}

func (s *source) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	if err := s.between(s.left); err != nil {
		return 0, err
	}
	s.left--
	p[0] = 'x'
	return 1, nil
}

// TestInProgress sweeps during uploads. An upload in progress is not disturbed, an upload that
// pauses for longer than its lease fails, and a failed upload leaves no file.
func TestInProgress(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	e := open(t, db)
	n := e.node(cms.Photo, "photo")
	slow := &source{left: 30, between: func(int) error {
		e.clock.Advance(30 * time.Minute) // the lease has not ended
		_, err := e.Sweep(t.Context())
		return err
	}}
	n, err := e.Upload(t.Context(), n, "f", "", slow)
	e.must(err)
	if e.content(n) != strings.Repeat("x", 30) {
		t.Error("an upload that was swept around is not whole")
	}
	asleep := &source{left: 30, between: func(left int) error {
		if left == 1 {
			e.later()
			_, err := e.Sweep(t.Context())
			return err
		}
		return nil
	}}
	_, err = e.Upload(t.Context(), n, "f", "", asleep)
	e.fails("an upload that slept too long", err, cms.ErrUploadLost)
	broken := &source{left: 30, between: func(left int) error {
		if left == 1 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}}
	_, err = e.Upload(t.Context(), n, "f", "", broken)
	e.fails("a source that breaks", err, io.ErrUnexpectedEOF)
	overtaken := &source{left: 1, between: func(int) error {
		_, err := e.Edit(t.Context(), n, n.Metadata)
		return err
	}}
	_, err = e.Upload(t.Context(), n, "f", "", overtaken)
	e.fails("an upload during which another one saved", err, cms.ErrConflict)
	n, err = e.Get(t.Context(), n.ID)
	e.must(err)
	if files, err := db.Collection("assets.files").CountDocuments(t.Context(), bson.D{}); err != nil ||
		files != 1 || len(n.Uploads) != 0 {
		t.Errorf("%d files are left, %d uploads: %v", files, len(n.Uploads), err)
	}
	if orphans, err := e.Orphans(t.Context()); err != nil || len(orphans) != 0 {
		t.Errorf("%v %v", orphans, err)
	}
	var nested func(depth int) error
	nested = func(depth int) error {
		_, err := e.Upload(t.Context(), n, "f", "",
			&source{left: 1, between: func(int) error { return nested(depth + 1) }})
		if depth > cms.MaxUploads {
			return fmt.Errorf("too deep: %w", err)
		}
		return err
	}
	e.fails("too many uploads at once", nested(1), cms.ErrBusy)
	e.sound()
}

// TestForeign writes chunks by other programs into the same bucket. A Sweep keeps the chunks. After
// Config.Grace, Check reports the chunks without a file, and Repair removes the chunks whose _id
// has a time.
func TestForeign(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	e := open(t, db)
	bucket := db.GridFSBucket(options.GridFSBucket().SetName("assets").SetChunkSizeBytes(1 << 20))
	stream, err := bucket.OpenUploadStreamWithID(t.Context(), bson.D{{"a", 1}}, "foreign")
	e.must(err)
	_, err = stream.Write(bytes.Repeat([]byte("x"), 16<<20)) // the size at which the driver sends a batch of chunks
	e.must(err)
	_, err = db.Collection("assets.chunks").
		InsertOne(t.Context(), bson.D{{"_id", 1}, {"files_id", "ageless"}, {"n", 0}})
	e.must(err)
	e.clock.Advance(max(0, time.Since(e.clock.Now())))
	if done, err := e.Sweep(t.Context()); err != nil || done != (cms.Swept{}) {
		t.Errorf("an upload in progress was swept: %+v %v", done, err)
	}
	if orphans, err := e.Orphans(t.Context()); err != nil || len(orphans) != 2 {
		t.Errorf("%v %v", orphans, err)
	}
	e.sound()
	e.later()
	violations, err := e.Check(t.Context())
	if err != nil || len(violations) != 1 || violations[0].Rule != cms.RuleOrphan {
		t.Errorf("%v %v", violations, err)
	}
	if done, err := e.Repair(t.Context()); err != nil || done != 1 {
		t.Errorf("%v %v", done, err)
	}
	orphans, err := e.Orphans(t.Context())
	if err != nil || len(orphans) != 1 || orphans[0].File != "ageless" || !orphans[0].Newest.IsZero() {
		t.Errorf("%v %v", orphans, err)
	}
	e.must(stream.Abort())
}

func TestCheckout(t *testing.T) {
	t.Parallel()
	e := open(t, patterntest.Open(t))
	n := e.node(cms.Photo, "photo")
	lease, err := e.Checkout(t.Context(), n.ID)
	e.must(err)
	_, err = e.Checkout(t.Context(), n.ID)
	e.fails("somebody works at it", err, lock.ErrHeld)
	e.must(lease.Release(t.Context()))
	_, err = e.Checkout(t.Context(), n.ID)
	e.must(err)
}

// TestCrash lets editors die at every point. Readers see the old or the new node, and a sweep
// removes everything else.
func TestCrash(t *testing.T) {
	t.Parallel()
	const before, after = "the old content of the file", "the new content of the file, which is longer"
	edit := func(db *mongo.Database) (*cms.CMS, cms.Node, error) {
		c, err := cms.New(db, cms.Config{Env: patterns.Env{Clock: patterntest.NewClock()}, ChunkSize: chunkSize})
		if err != nil {
			return nil, cms.Node{}, err
		}
		n, err := c.BySlug(context.Background(), "s", "photo")
		return c, n, err
	}
	revisions := map[string]int64{"upload": 3, "edit": 3, "create": 2, "sweep": 2}
	operations := map[string]func(ctx context.Context, c *cms.CMS, n cms.Node) error{
		"upload": func(ctx context.Context, c *cms.CMS, n cms.Node) error {
			_, err := c.Upload(ctx, n, "f", "", strings.NewReader(after))
			return err
		},
		"delete": func(ctx context.Context, c *cms.CMS, n cms.Node) error { return c.Delete(ctx, n) },
		"create": func(ctx context.Context, c *cms.CMS, _ cms.Node) error { // the slug is taken
			m := cms.Metadata{Kind: cms.Photo, Section: "s", Title: "photo", Author: "ada"}
			_, err := c.Create(ctx, m)
			return err
		},
		"sweep": func(ctx context.Context, c *cms.CMS, n cms.Node) error {
			broken := io.MultiReader(strings.NewReader(after), iotest.ErrReader(io.ErrUnexpectedEOF))
			if _, err := c.Upload(ctx, n, "f", "", broken); !errors.Is(err, io.ErrUnexpectedEOF) {
				return errors.Join(errors.New("it was not broken"), err)
			}
			(&editor{CMS: c, clock: c.Clock().(*patterntest.Clock)}).later()
			_, err := c.Sweep(ctx)
			return err
		},
		"edit": func(ctx context.Context, c *cms.CMS, n cms.Node) error {
			n.Metadata.Title = "new"
			_, err := c.Edit(ctx, n, n.Metadata)
			return err
		},
	}
	for name, operation := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) {
					e := open(t, db)
					e.upload(e.node(cms.Photo, "photo"), before)
				},
				Operation: func(ctx context.Context, db *mongo.Database) error {
					c, n, err := edit(db)
					if err != nil {
						return err
					}
					return operation(ctx, c, n)
				},
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					e := open(t, db)
					e.sound()
					e.later()
					_, err := e.Repair(t.Context())
					e.must(err)
					e.sound()
					files, err := db.Collection("assets.files").CountDocuments(t.Context(), bson.D{})
					e.must(err)
					n, err := e.BySlug(t.Context(), "s", "photo")
					if errors.Is(err, cms.ErrNotFound) && name == "delete" {
						if files != 0 {
							t.Errorf("%v: %d files are left", death, files)
						}
						return
					}
					e.must(err)
					if got := e.content(n); got != before && (name != "upload" || got != after) {
						t.Errorf("%v: %s", death, got)
					}
					if death.Err == nil && n.Revision != revisions[name] ||
						files != int64(len(n.Versions)) || len(n.Uploads) != 0 {
						t.Errorf("%v: %d files, %+v", death, files, n)
					}
					_, err = e.Upload(t.Context(), n, "f", "", strings.NewReader("again"))
					e.must(err)
				},
			})
		})
	}
}

// TestTogether has many editors save the same nodes while another goroutine sweeps. Every
// successful save is in the result.
func TestTogether(t *testing.T) {
	t.Parallel()
	const editors, saves = 4, 15
	db := patterntest.Open(t)
	e := open(t, db)
	n := e.node(cms.Photo, "photo")
	var saved, conflicts atomic.Int64
	var wg sync.WaitGroup
	for who := range editors {
		wg.Go(func() {
			for i := range saves {
				base, err := e.Get(t.Context(), n.ID)
				if err != nil {
					t.Error(err)
					return
				}
				if who == 0 && i%3 == 0 {
					_, err = e.Upload(t.Context(), base, "f", "", strings.NewReader(strings.Repeat("x", 25)))
				} else {
					m := base.Metadata
					m.Detail.Text += "+"
					_, err = e.Edit(t.Context(), base, m)
				}
				switch {
				case err == nil:
					saved.Add(1)
				case errors.Is(err, cms.ErrConflict):
					conflicts.Add(1)
				default:
					t.Error(err)
				}
				if who == 1 {
					if _, err := e.Sweep(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	got, err := e.Get(t.Context(), n.ID)
	e.must(err)
	if got.Revision != 1+saved.Load() || saved.Load()+conflicts.Load() != editors*saves {
		t.Errorf("revision %d after %d saves, %d conflicts", got.Revision, saved.Load(), conflicts.Load())
	}
	edits := int64(strings.Count(got.Metadata.Detail.Text, "+"))
	if uploads := saved.Load() - edits; uploads < 0 || uploads > saves/3 {
		t.Errorf("%d of %d saves are in the text", edits, saved.Load())
	}
	e.later()
	_, err = e.Sweep(t.Context())
	e.must(err)
	e.sound()
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		e := open(t, db)
		e.upload(e.upload(e.node(cms.Photo, "photo", "tag"), "1"), "2")
		// The driver reads one document of this collection before an upload, to see whether the
		// collection is empty.
	}, "assets.files")
	n += server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		e := open(t, db)
		n, err := e.BySlug(ctx, "s", "photo")
		e.must(err)
		e.content(n)
		n, err = e.Revert(ctx, n, n.Versions[0].File)
		e.must(err)
		n, err = e.Edit(ctx, n, n.Metadata)
		e.must(err)
		for _, q := range []cms.Query{
			{Section: "s"},
			{Section: "s", Kind: cms.Photo},
			{Tag: "tag"},
			{Tag: "tag", After: &n},
		} {
			_, err = e.List(ctx, q)
			e.must(err)
		}
		_, err = e.Tags(ctx, 1)
		e.must(err)
		e.must(e.Delete(ctx, n))
	})
	if n < 19 {
		t.Errorf("%d commands were explained", n)
	}
	e := open(t, server.Database())
	e.upload(e.node(cms.Photo, "other"), "1")
	server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		e := open(t, db)
		e.later()
		_, err := e.Sweep(ctx)
		e.must(err)
	})
}

// TestBroken violates each rule once, and expects Check to find the violation.
func TestBroken(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	e := open(t, db)
	nodes, files, chunks := db.Collection("nodes"), db.Collection("assets.files"), db.Collection("assets.chunks")
	ctx := t.Context()
	set := func(coll *mongo.Collection, id any, field string, value any) {
		_, err := coll.UpdateOne(ctx, bson.D{{"_id", id}}, bson.D{{"$set", bson.D{{field, value}}}})
		e.must(err)
	}
	e.must(nodes.Indexes().DropAll(ctx))
	chunk := func(field string, value any) func(n, _ cms.Node) {
		return func(n, _ cms.Node) {
			_, err := chunks.UpdateOne(ctx, bson.D{{"files_id", n.File}}, bson.D{{"$set", bson.D{{field, value}}}})
			e.must(err)
		}
	}
	for _, c := range []struct {
		rule   string
		breaks func(n, other cms.Node)
	}{
		{cms.RuleNonce, func(n, other cms.Node) { set(nodes, n.ID, "nonce", other.Nonce) }},
		{cms.RuleNonce, func(n, _ cms.Node) { set(nodes, n.ID, "nonce", bson.ObjectID{}) }},
		{cms.RuleSlug, func(n, other cms.Node) { set(nodes, n.ID, "metadata.slug", other.Metadata.Slug) }},
		{cms.RuleVersion, func(n, _ cms.Node) { set(nodes, n.ID, "file", bson.NewObjectID()) }},
		{cms.RuleFile, func(n, _ cms.Node) { set(nodes, n.ID, "versions.0.length", 7) }},
		{cms.RuleFile, func(n, _ cms.Node) {
			_, err := files.DeleteOne(ctx, bson.D{{"_id", n.File}})
			e.must(err)
			_, err = chunks.DeleteMany(ctx, bson.D{{"files_id", n.File}})
			e.must(err)
		}},
		{cms.RuleChunks, chunk("n", 9)},
		{cms.RuleChunks, chunk("data", []byte("12"))},
		{cms.RuleChunks, func(n, _ cms.Node) {
			_, err := chunks.DeleteMany(ctx, bson.D{{"files_id", n.File}})
			e.must(err)
		}},
		{cms.RuleOwner, func(n, _ cms.Node) {
			_, err := nodes.UpdateOne(ctx, bson.D{{"_id", n.ID}},
				bson.D{{"$unset", bson.D{{"file", 1}, {"versions", 1}}}})
			e.must(err)
		}},
		{cms.RuleOrphan, func(n, _ cms.Node) {
			_, err := files.DeleteOne(ctx, bson.D{{"_id", n.File}})
			e.must(err)
			_, err = nodes.DeleteOne(ctx, bson.D{{"_id", n.ID}})
			e.must(err)
		}},
	} {
		n, other := e.upload(e.node(cms.Photo, "n"), "123"), e.upload(e.node(cms.Photo, "m"), "123")
		e.later()
		e.sound()
		c.breaks(n, other)
		violations, err := e.Check(ctx)
		if err != nil || len(violations) != 1 || violations[0].Rule != c.rule || violations[0].String() == "" {
			t.Errorf("%s: %v %v", c.rule, violations, err)
		}
		for _, coll := range []*mongo.Collection{nodes, files, chunks} {
			_, err := coll.DeleteMany(ctx, bson.D{})
			e.must(err)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	e := open(t, patterntest.Open(t))
	for _, cfg := range []cms.Config{
		{Lease: -1},
		{Grace: -1},
		{Every: -1},
		{Versions: -1},
		{ChunkSize: -1},
		{Checkout: -1},
	} {
		if _, err := cms.New(nil, cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
	e.fails("not sharded", e.Shard(t.Context()), patterns.ErrNotSharded)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.fails("a run that ends", e.Run(ctx), context.Canceled)
}
