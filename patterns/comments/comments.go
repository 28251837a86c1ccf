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

// Design selects how comments are stored.
type Design int

// These are the values of Config.Design.
const (
	// Documents stores each comment as a document of its own.
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

// maxDocument is the largest size of the comments in one document, in bytes. It leaves room below
// the server's limit of 16 MiB.
const maxDocument = 15 << 20

// overhead is an upper limit for the bytes of a comment without its text: names, times, the path.
const overhead = 1024

// Config configures Comments. The zero value works.
type Config struct {
	patterns.Env
	// Design is Documents by default. All programs that share a collection must use the same
	// design.
	Design Design
	// Collection is the name of the collection. If empty, it is "comments", "discussions" or
	// "comment_pages", depending on the design.
	Collection string
	// MaxText is the largest length of a text in bytes; DefaultMaxText if zero. MaxDepth is the
	// largest depth of a reply; DefaultMaxDepth if zero.
	MaxText, MaxDepth int
	// PageSize is the number of comments in a document of the design Pages; DefaultPageSize if
	// zero. It cannot be changed later.
	PageSize int
	// Limit is the largest number of comments on a target with the design Embedded; DefaultLimit if
	// zero.
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

// Target is the document to which comments belong. It may be in any collection.
type Target struct {
	// Kind is for example the name of the document's collection. ID is its _id.
	Kind string `bson:"kind"`
	ID   any    `bson:"id"`
}

// ID identifies a comment. Later comments have greater IDs: always if one Comments has created
// them, and otherwise as far as the clocks of the processes agree.
type ID string

// Comment is a comment on a target or a reply to another comment.
type Comment struct {
	ID ID `bson:"_id"`
	// Parent is the ID of the comment to which this comment replies; empty if it replies to the
	// target itself. Path joins the IDs of all comments above this comment, and its own ID.
	Parent ID     `bson:"parent"`
	Path   string `bson:"path"`
	Author string `bson:"author"`
	// Text is empty if the comment is deleted.
	Text   string    `bson:"text"`
	Posted time.Time `bson:"posted"`
	// Edited is zero if the comment was never edited.
	Edited  time.Time `bson:"edited,omitempty"`
	Deleted bool      `bson:"deleted,omitempty"`
}

// Depth returns the number of comments above this one in its thread.
func (c *Comment) Depth() int { return strings.Count(c.Path, "/") }

// Range selects a part of a list of comments: the comments after the comment After, or after the
// first Skip comments if After is empty.
type Range struct {
	After ID
	Skip  int
	Limit int
}

// Comments stores the comments of a collection. It is safe for concurrent use.
type Comments struct {
	env    patterns.Env
	cfg    Config
	coll   *mongo.Collection
	store  store
	lastID atomic.Int64

	prepared patterns.Prepared
}

// store holds the operations that differ between the designs. Methods that look for a comment
// return ErrNotFound if it does not exist.
type store interface {
	insert(ctx context.Context, on Target, c *Comment) error
	find(ctx context.Context, on Target, id ID) (*Comment, error)
	// change sets fields of a comment that is not deleted, and reports whether it found such a
	// comment.
	change(ctx context.Context, on Target, id ID, fields bson.D) (bool, error)
	page(ctx context.Context, on Target, r Range) ([]Comment, error)
	// thread lists the comments whose path equals root or is below it, sorted by path.
	thread(ctx context.Context, on Target, root string, r Range) ([]Comment, error)
	count(ctx context.Context, on Target) (int64, error)
	// check calls visit with all comments of each target, and violate for each violation of the
	// design's own rules.
	check(ctx context.Context, visit func(on Target, all []Comment),
		violate func(rule string, id any, detail string)) error
	indexes() []patterns.Index
	shardKey() bson.D
}

// New returns a Comments that stores its documents in db.
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

// Post adds a comment to a target.
func (c *Comments) Post(ctx context.Context, on Target, author, text string) (Comment, error) {
	return c.post(ctx, on, nil, author, text)
}

// Reply adds a reply to a comment. It returns ErrDeleted if that comment is deleted, and ErrTooDeep
// if the reply would exceed Config.MaxDepth.
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

// perMilli is the number of IDs of one Comments that can begin with the same millisecond.
const perMilli = 1 << 16

// newID returns an ID that begins with the time. The IDs of one Comments always increase, even
// within a millisecond.
func (c *Comments) newID(now time.Time) ID {
	var n int64
	for ok := false; !ok; {
		last := c.lastID.Load()
		n = max(now.UnixMilli()*perMilli, last+1)
		ok = c.lastID.CompareAndSwap(last, n)
	}
	var random [4]byte          // distinguishes the processes
	_, _ = rand.Read(random[:]) // rand.Read never fails
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

// Edit replaces the text of a comment. It returns ErrDeleted if the comment is deleted.
func (c *Comments) Edit(ctx context.Context, on Target, id ID, text string) error {
	if err := c.checkText(text); err != nil {
		return err
	}
	return c.change(ctx, on, id, bson.D{{"text", text}, {"edited", c.env.Now()}})
}

// Delete removes the text and the author of a comment. The comment keeps its place, and its replies
// stay.
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

// Get returns a comment, for example for a permanent link. Use Thread for the replies below it.
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

// Page lists comments on a target, including replies, in the order in which they were posted.
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

// Thread lists a comment and all replies below it. Each reply follows its parent, and older replies
// come first. With an empty root, Thread lists all comments on the target.
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

// Count returns the number of comments on a target that are not deleted.
func (c *Comments) Count(ctx context.Context, on Target) (int64, error) {
	n, err := c.store.count(ctx, on)
	if err != nil {
		return 0, fmt.Errorf("comments: count the comments on %v: %w", on, err)
	}
	return n, nil
}

// Indexes returns the indexes that the design needs.
func (c *Comments) Indexes() []patterns.Index { return c.store.indexes() }

// EnsureIndexes creates the indexes.
func (c *Comments) EnsureIndexes(ctx context.Context) error {
	return c.prepared.Ensure(ctx, c.coll.Database(), c.Indexes())
}

// ready fails if the indexes were not created before the first use: without them, a target could
// have two pages with the same number.
func (c *Comments) ready(ctx context.Context) error {
	return c.prepared.Check(ctx, c.coll.Database(), c.env.Logger, c.Indexes)
}

// ShardKeys returns the shard key of the comments.
func (c *Comments) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: c.coll.Name(), Key: c.store.shardKey()}}
}

// Shard shards the comments by the key of ShardKeys.
func (c *Comments) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, c.coll.Database(), c.ShardKeys())
}
