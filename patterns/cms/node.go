package cms

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Kind is what a node is.
type Kind string

// The kinds of nodes.
const (
	Page  Kind = "page"
	Post  Kind = "post"
	Photo Kind = "photo"
)

// publishOn is when a node appears.
const publishOn = "metadata.detail.publish_on"

// Metadata is what an editor edits.
type Metadata struct {
	Kind    Kind     `bson:"nodetype"`
	Section string   `bson:"section"`
	Slug    string   `bson:"slug"` // in links; unique in a section
	Title   string   `bson:"title"`
	Author  string   `bson:"author"`
	Tags    []string `bson:"tags"`
	Detail  Detail   `bson:"detail"`
}

// Detail is the content.
type Detail struct {
	Text string `bson:"text"`
	// PublishOn is when it appears, which may be in the future; a node without it is a draft.
	PublishOn time.Time `bson:"publish_on,omitempty"`
}

// Node is a page, a post or a photo, as it was read.
type Node struct {
	ID bson.ObjectID `bson:"_id"`
	// Nonce names this state of the node: each save gives another one.
	Nonce    bson.ObjectID `bson:"nonce"`
	Revision int64         `bson:"revision"` // counts the saves
	Created  time.Time     `bson:"created"`
	Edited   time.Time     `bson:"edited"`
	Metadata Metadata      `bson:"metadata"`
	// File is the one of Versions that is shown; zero is none. The newest version is the last.
	File     bson.ObjectID `bson:"file,omitempty"`
	Versions []Version     `bson:"versions,omitempty"`
	Uploads  []upload      `bson:"uploads,omitempty"`
}

// ConflictError says that a node was saved by another one after it was read. Nothing was changed.
type ConflictError struct {
	// Yours is what would have been saved, Theirs is what is there.
	Yours, Theirs Node
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %s is at revision %d, and you have edited revision %d", ErrConflict, e.Theirs.ID.Hex(),
		e.Theirs.Revision, e.Yours.Revision)
}

// Is makes it an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// slugTries is how many numbers Create tries behind a slug that is taken.
const slugTries = 100

// Create adds a node. Without a slug it gets one made of its title, with a number where that is
// taken.
func (c *CMS) Create(ctx context.Context, m Metadata) (Node, error) {
	derived := m.Slug == ""
	if derived {
		m.Slug = Slug(m.Title)
	}
	if err := m.valid(); err != nil {
		return Node{}, err
	}
	if err := c.ready(ctx); err != nil {
		return Node{}, err
	}
	now := c.env.Now()
	n := Node{ID: bson.NewObjectID(), Nonce: bson.NewObjectID(), Revision: 1, Created: now, Edited: now, Metadata: m}
	for try := 2; ; try++ {
		_, err := c.nodes.InsertOne(ctx, n)
		switch {
		case err == nil:
			return n, nil
		case !mongo.IsDuplicateKeyError(err):
			return Node{}, fmt.Errorf("cms: create %s/%s: %w", m.Section, m.Slug, err)
		case !derived || try > slugTries:
			return Node{}, ErrSlug
		}
		n.Metadata.Slug = fmt.Sprintf("%s-%d", m.Slug, try)
	}
}

// Slug makes a slug of a title: its letters and digits in lower case, with hyphens between the
// words.
func Slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	return strings.Join(words, "-")
}

func (m *Metadata) valid() error {
	if m.Tags == nil {
		m.Tags = []string{}
	}
	known := m.Kind == Page || m.Kind == Post || m.Kind == Photo
	if !known || m.Slug == "" || len(m.Detail.Text) > MaxText || len(m.Tags) > MaxTags {
		return ErrBadNode
	}
	for _, s := range append([]string{m.Section, m.Slug, m.Title, m.Author}, m.Tags...) {
		if len(s) > MaxName {
			return ErrBadNode
		}
	}
	return nil
}

// Get returns a node, for instance to edit it.
func (c *CMS) Get(ctx context.Context, id bson.ObjectID) (Node, error) {
	return c.find(ctx, bson.D{{"_id", id}})
}

// BySlug returns a node that is published.
func (c *CMS) BySlug(ctx context.Context, section, slug string) (Node, error) {
	return c.find(ctx, bson.D{
		{"metadata.section", section},
		{"metadata.slug", slug},
		{publishOn, bson.D{{"$lte", c.env.Now()}}},
	})
}

func (c *CMS) find(ctx context.Context, filter bson.D) (n Node, err error) {
	err = c.nodes.FindOne(ctx, filter).Decode(&n)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return n, ErrNotFound
	}
	if err != nil {
		return n, fmt.Errorf("cms: find a node: %w", err)
	}
	return n, nil
}

// Edit saves a node that was read as base with other metadata, and returns it as it is then. A
// *ConflictError, which carries both versions, says that another one has saved it since.
func (c *CMS) Edit(ctx context.Context, base Node, m Metadata) (Node, error) {
	if err := m.valid(); err != nil {
		return Node{}, err
	}
	yours := base
	yours.Metadata = m
	return c.save(ctx, yours, base.unchanged(), bson.D{{"$set", bson.D{{"metadata", m}}}})
}

// unchanged is the condition that a node is as it was read. Its section and slug are there for the
// shard key: the nonce is enough.
func (n *Node) unchanged() bson.D {
	return bson.D{
		{"_id", n.ID},
		{"nonce", n.Nonce},
		{"metadata.section", n.Metadata.Section},
		{"metadata.slug", n.Metadata.Slug},
	}
}

// save changes a node under a condition, and gives it a new nonce. yours is for the error.
func (c *CMS) save(ctx context.Context, yours Node, when, change bson.D) (Node, error) {
	set := bson.D{{"nonce", bson.NewObjectID()}, {"edited", c.env.Now()}}
	for i, op := range change {
		if op.Key == "$set" {
			change[i].Value = append(set, op.Value.(bson.D)...)
		}
	}
	change = append(change, bson.E{"$inc", bson.D{{"revision", int64(1)}}})
	var n Node
	err := c.nodes.FindOneAndUpdate(ctx, when, change,
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&n)
	switch {
	case err == nil:
		c.env.Metrics.Add("cms.saved", 1)
		return n, nil
	case mongo.IsDuplicateKeyError(err):
		return Node{}, ErrSlug
	case !errors.Is(err, mongo.ErrNoDocuments):
		return Node{}, fmt.Errorf("cms: save %s: %w", yours.ID.Hex(), err)
	}
	return Node{}, c.conflict(ctx, yours)
}

// conflict says why a condition did not match; ErrBase if the nonce is still the one that was read.
func (c *CMS) conflict(ctx context.Context, yours Node) error {
	theirs, err := c.Get(ctx, yours.ID)
	if err != nil {
		return err
	}
	if theirs.Nonce == yours.Nonce {
		return ErrBase
	}
	c.env.Metrics.Add("cms.conflicts", 1)
	return &ConflictError{Yours: yours, Theirs: theirs}
}

// Delete removes a node that was read as base, with its files.
func (c *CMS) Delete(ctx context.Context, base Node) error {
	var n Node
	err := c.nodes.FindOneAndDelete(ctx, base.unchanged()).Decode(&n)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return c.conflict(ctx, base)
	}
	if err != nil {
		return fmt.Errorf("cms: delete %s: %w", base.ID.Hex(), err)
	}
	for _, v := range n.Versions {
		if err := c.remove(ctx, v.File); err != nil {
			return err
		}
	}
	return nil
}
