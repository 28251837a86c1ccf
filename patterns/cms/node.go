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

// Kind is the kind of a node.
type Kind string

// The kinds of nodes.
const (
	Page  Kind = "page"
	Post  Kind = "post"
	Photo Kind = "photo"
)

// publishOn is the path of the time from which a node is published.
const publishOn = "metadata.detail.publish_on"

// Metadata holds the fields that an editor changes.
type Metadata struct {
	Kind    Kind     `bson:"nodetype"`
	Section string   `bson:"section"`
	Slug    string   `bson:"slug"` // part of the address, unique in a section
	Title   string   `bson:"title"`
	Author  string   `bson:"author"`
	Tags    []string `bson:"tags"`
	Detail  Detail   `bson:"detail"`
}

// Detail is the content of a node.
type Detail struct {
	Text string `bson:"text"`
	// PublishOn is the time from which the node is published. It may be in the future. A node
	// without it is a draft.
	PublishOn time.Time `bson:"publish_on,omitempty"`
}

// Node is a page, a post or a photo, as it was read.
type Node struct {
	ID bson.ObjectID `bson:"_id"`
	// Nonce identifies this state of the node: each save sets a new one.
	Nonce    bson.ObjectID `bson:"nonce"`
	Revision int64         `bson:"revision"` // the number of saves
	Created  time.Time     `bson:"created"`
	Edited   time.Time     `bson:"edited"`
	Metadata Metadata      `bson:"metadata"`
	// File is the version in Versions that readers see; zero if there is no file. The newest
	// version is the last.
	File     bson.ObjectID `bson:"file,omitempty"`
	Versions []Version     `bson:"versions,omitempty"`
	Uploads  []upload      `bson:"uploads,omitempty"`
}

// ConflictError says that somebody else saved the node after it was read. The failed save has
// changed nothing.
type ConflictError struct {
	// Yours is the node that would have been saved. Theirs is the stored node.
	Yours, Theirs Node
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %s is at revision %d, and you have edited revision %d", ErrConflict, e.Theirs.ID.Hex(),
		e.Theirs.Revision, e.Yours.Revision)
}

// Is makes errors.Is report true for ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// slugTries is the number of suffixes that Create tries if a slug is taken.
const slugTries = 100

// Create stores a new node. If the slug is empty, Create derives it from the title, and appends a
// number if that slug is taken. It returns ErrSlug if a given slug is taken.
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

// Slug derives a slug from a title: its letters and digits in lower case, with hyphens between the
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

// Get returns a node, published or not. Use it to edit the node.
func (c *CMS) Get(ctx context.Context, id bson.ObjectID) (Node, error) {
	return c.find(ctx, bson.D{{"_id", id}})
}

// BySlug returns a published node, or ErrNotFound.
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

// Edit saves new metadata for a node that was read as base, and returns the changed node. It
// returns a *ConflictError with both versions if somebody else has saved the node since.
func (c *CMS) Edit(ctx context.Context, base Node, m Metadata) (Node, error) {
	if err := m.valid(); err != nil {
		return Node{}, err
	}
	yours := base
	yours.Metadata = m
	return c.save(ctx, yours, base.unchanged(), bson.D{{"$set", bson.D{{"metadata", m}}}})
}

// unchanged returns the condition that a node is unchanged since it was read. The nonce would be
// enough; section and slug are there for the shard key.
func (n *Node) unchanged() bson.D {
	return bson.D{
		{"_id", n.ID},
		{"nonce", n.Nonce},
		{"metadata.section", n.Metadata.Section},
		{"metadata.slug", n.Metadata.Slug},
	}
}

// save changes a node under a condition, and sets a new nonce. It needs yours only for a
// ConflictError.
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

// conflict returns the reason why the condition of a save did not match. It returns ErrBase if the
// nonce is unchanged.
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

// Delete removes a node that was read as base, with its files. It returns a *ConflictError if
// somebody else has saved the node since.
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
