package comments

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of comments.
var (
	ErrNotFound = errors.New("comments: there is no such comment")
	ErrDeleted  = errors.New("comments: the comment is deleted")
	ErrBadText  = errors.New("comments: a text is neither empty nor longer than is allowed")
	ErrTooDeep  = errors.New("comments: replies cannot go deeper")
	ErrFull     = errors.New("comments: the discussion has as many comments as fit into its document")
)

// Design is how comments are stored.
type Design int

// The designs.
const (
	// Documents stores each comment as a document.
	Documents Design = iota
	// Embedded stores all comments of a target in one document.
	Embedded
	// Pages stores the comments of a target in documents of Config.PageSize comments each.
	Pages
)

// String returns the design's name.
func (d Design) String() string {
	return [...]string{"documents", "embedded", "pages"}[d]
}

// The defaults of a Config.
const (
	DefaultMaxText  = 4096
	DefaultMaxDepth = 16
	DefaultPageSize = 100
	DefaultLimit    = 1000
)

// maxDocument is what the comments of one document may have, with room below the server's 16 MB.
const maxDocument = 15 << 20

// overhead is more than a comment takes beside its text: names, times, the path.
const overhead = 1024

// Config configures Comments. The zero value works.
type Config struct {
	patterns.Env
	// Design is Documents by default. All programs that share a collection use the same.
	Design Design
	// Collection is "comments", "discussions" or "comment_pages", as the design is, if empty.
	Collection string
	// MaxText is the length in bytes of the longest text, DefaultMaxText if zero; MaxDepth how deep
	// replies go, DefaultMaxDepth if zero.
	MaxText, MaxDepth int
	// PageSize is the number of comments of a document of the design Pages, DefaultPageSize if
	// zero. It cannot be changed later.
	PageSize int
	// Limit is how many comments a target can have with the design Embedded, DefaultLimit if zero.
	Limit int
}

func (c Config) withDefaults() (Config, error) {
	if c.Design < Documents || c.Design > Pages || c.MaxText < 0 || c.MaxDepth < 0 || c.PageSize < 0 || c.Limit < 0 {
		return c, fmt.Errorf("comments: %+v", c)
	}
	c.MaxText = cmp.Or(c.MaxText, DefaultMaxText)
	c.MaxDepth = cmp.Or(c.MaxDepth, DefaultMaxDepth)
	c.PageSize = cmp.Or(c.PageSize, DefaultPageSize)
	c.Limit = cmp.Or(c.Limit, DefaultLimit)
	together := map[Design]int{Embedded: c.Limit, Pages: c.PageSize}[c.Design]
	if together*(c.MaxText+overhead) > maxDocument {
		return c, fmt.Errorf("comments: %d comments of %d bytes do not fit into a document", together, c.MaxText)
	}
	c.Collection = cmp.Or(c.Collection, [...]string{"comments", "discussions", "comment_pages"}[c.Design])
	c.Env = c.WithDefaults()
	return c, nil
}

// Target is what is commented on: a document of any collection.
type Target struct {
	// Kind is for instance the name of its collection, and ID its _id.
	Kind string `bson:"kind"`
	ID   any    `bson:"id"`
}

// ID names a comment. IDs of later comments are greater: those of one Comments always, those of
// several as far as their clocks agree.
type ID string

// Comment is one comment.
type Comment struct {
	ID ID `bson:"_id"`
	// Parent is what it replies to, empty if it replies to the target itself; Path leads to it from
	// there, through all IDs.
	Parent ID     `bson:"parent"`
	Path   string `bson:"path"`
	Author string `bson:"author"`
	// Text is empty once the comment is deleted.
	Text   string    `bson:"text"`
	Posted time.Time `bson:"posted"`
	// Edited is zero unless it was edited.
	Edited  time.Time `bson:"edited,omitempty"`
	Deleted bool      `bson:"deleted,omitempty"`
}

// Depth is how many comments are above it.
func (c *Comment) Depth() int { return strings.Count(c.Path, "/") }

// Range is a part of a list of comments: after the comment After, if it is not empty, or after the
// first Skip ones.
type Range struct {
	After ID
	Skip  int
	Limit int
}

// Comments are the comments of a collection. It is safe for concurrent use.
type Comments struct {
	env    patterns.Env
	cfg    Config
	coll   *mongo.Collection
	store  store
	lastID atomic.Int64

	prepared patterns.Prepared
}

// store is what differs between the designs. Methods that look for a comment return ErrNotFound
// if there is none.
type store interface {
	insert(ctx context.Context, on Target, c *Comment) error
	find(ctx context.Context, on Target, id ID) (*Comment, error)
	// change sets fields of a comment that is not deleted, and reports whether there is one.
	change(ctx context.Context, on Target, id ID, fields bson.D) (bool, error)
	page(ctx context.Context, on Target, r Range) ([]Comment, error)
	// thread lists the comments whose path is that of a root or begins with it, by their paths.
	thread(ctx context.Context, on Target, root string, r Range) ([]Comment, error)
	count(ctx context.Context, on Target) (int64, error)
	// check calls visit with all comments of each target, and violate with what contradicts the
	// design.
	check(ctx context.Context, visit func(on Target, all []Comment),
		violate func(rule string, id any, detail string)) error
	indexes() []patterns.Index
	shardKey() bson.D
}

// New returns the comments of a database.
func New(db *mongo.Database, cfg Config) (*Comments, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Comments{env: cfg.Env, cfg: cfg, coll: db.Collection(cfg.Collection)}
	switch cfg.Design {
	case Embedded:
		c.store = embedded{c}
	case Pages:
		c.store = pages{c}
	default:
		c.store = documents{c}
	}
	return c, nil
}

// Post comments on a target.
func (c *Comments) Post(ctx context.Context, on Target, author, text string) (Comment, error) {
	return c.post(ctx, on, nil, author, text)
}

// Reply replies to a comment.
func (c *Comments) Reply(ctx context.Context, on Target, to ID, author, text string) (Comment, error) {
	parent, err := c.Get(ctx, on, to)
	if err != nil {
		return Comment{}, err
	}
	if parent.Deleted {
		return Comment{}, ErrDeleted
	}
	if parent.Depth()+1 > c.cfg.MaxDepth {
		return Comment{}, ErrTooDeep
	}
	return c.post(ctx, on, &parent, author, text)
}

func (c *Comments) post(ctx context.Context, on Target, parent *Comment, author, text string) (Comment, error) {
	if err := c.checkText(text); err != nil {
		return Comment{}, err
	}
	if err := c.ready(ctx); err != nil {
		return Comment{}, err
	}
	now := c.env.Now()
	one := Comment{ID: c.newID(now), Author: author, Text: text, Posted: now}
	one.Path = string(one.ID)
	if parent != nil {
		one.Parent, one.Path = parent.ID, parent.Path+"/"+one.Path
	}
	if err := c.store.insert(ctx, on, &one); err != nil {
		return Comment{}, fmt.Errorf("comments: post on %v: %w", on, err)
	}
	c.env.Metrics.Add("comments.posted", 1)
	return one, nil
}

// perMilli is how many IDs of one Comments begin with the same millisecond.
const perMilli = 1 << 16

// newID returns an ID that begins with the time. Those of one Comments grow, also within a
// millisecond.
func (c *Comments) newID(now time.Time) ID {
	var n int64
	for ok := false; !ok; {
		last := c.lastID.Load()
		n = max(now.UnixMilli()*perMilli, last+1)
		ok = c.lastID.CompareAndSwap(last, n)
	}
	var random [4]byte          // tells the processes apart
	_, _ = rand.Read(random[:]) // it never fails
	return ID(fmt.Sprintf("%016x%08x", n, binary.BigEndian.Uint32(random[:])))
}

// time returns the millisecond with which an ID begins.
func (id ID) time() (milli int64, ok bool) {
	const digits = 16
	if len(id) != digits+8 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(id[:digits]), 16, 64)
	return n / perMilli, err == nil
}

func (c *Comments) checkText(text string) error {
	if text == "" || len(text) > c.cfg.MaxText {
		return fmt.Errorf("%w: %d bytes of %d", ErrBadText, len(text), c.cfg.MaxText)
	}
	return nil
}

// Edit replaces the text of a comment.
func (c *Comments) Edit(ctx context.Context, on Target, id ID, text string) error {
	if err := c.checkText(text); err != nil {
		return err
	}
	return c.change(ctx, on, id, bson.D{{"text", text}, {"edited", c.env.Now()}})
}

// Delete takes the text and the author of a comment away. Its place stays, and the replies to it.
func (c *Comments) Delete(ctx context.Context, on Target, id ID) error {
	return c.change(ctx, on, id, bson.D{{"text", ""}, {"author", ""}, {"deleted", true}})
}

func (c *Comments) change(ctx context.Context, on Target, id ID, fields bson.D) error {
	found, err := c.store.change(ctx, on, id, fields)
	if err != nil {
		return fmt.Errorf("comments: change %s: %w", id, err)
	}
	if found {
		return nil
	}
	if _, err := c.Get(ctx, on, id); err != nil {
		return err
	}
	return ErrDeleted
}

// Get returns a comment: it is what a permanent link leads to. Thread lists what is below it.
func (c *Comments) Get(ctx context.Context, on Target, id ID) (Comment, error) {
	one, err := c.store.find(ctx, on, id)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return Comment{}, ErrNotFound
	}
	if err != nil {
		return Comment{}, fmt.Errorf("comments: get %s: %w", id, err)
	}
	return *one, nil
}

// Page lists comments on a target in the order in which they came, replies among them.
func (c *Comments) Page(ctx context.Context, on Target, r Range) ([]Comment, error) {
	if r.Limit <= 0 || r.Skip < 0 {
		return nil, fmt.Errorf("comments: a page of %d after %d", r.Limit, r.Skip)
	}
	out, err := c.store.page(ctx, on, r)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("comments: page of %v: %w", on, err)
	}
	return out, nil
}

// Thread lists a comment and the replies below it, each below what it replies to, older ones first.
// With an empty root it lists all of the target's.
func (c *Comments) Thread(ctx context.Context, on Target, root ID, r Range) ([]Comment, error) {
	if r.Limit <= 0 || r.Skip < 0 {
		return nil, fmt.Errorf("comments: a thread of %d after %d", r.Limit, r.Skip)
	}
	var path string
	if root != "" {
		top, err := c.Get(ctx, on, root)
		if err != nil {
			return nil, err
		}
		path = top.Path
	}
	out, err := c.store.thread(ctx, on, path, r)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("comments: thread of %v: %w", on, err)
	}
	return out, nil
}

// Count returns how many comments a target has that are not deleted.
func (c *Comments) Count(ctx context.Context, on Target) (int64, error) {
	n, err := c.store.count(ctx, on)
	if err != nil {
		return 0, fmt.Errorf("comments: count those of %v: %w", on, err)
	}
	return n, nil
}

// Indexes returns what the comments need.
func (c *Comments) Indexes() []patterns.Index { return c.store.indexes() }

// EnsureIndexes creates the indexes.
func (c *Comments) EnsureIndexes(ctx context.Context) error {
	return c.prepared.Ensure(ctx, c.coll.Database(), c.Indexes())
}

// ready fails before the first use without the indexes: a target could have two pages of one
// number.
func (c *Comments) ready(ctx context.Context) error {
	return c.prepared.Check(ctx, c.coll.Database(), c.env.Logger, c.Indexes)
}

// ShardKeys returns how the comments are distributed over shards.
func (c *Comments) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: c.coll.Name(), Key: c.store.shardKey()}}
}

// Shard distributes the comments over the shards of a cluster.
func (c *Comments) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, c.coll.Database(), c.ShardKeys())
}
