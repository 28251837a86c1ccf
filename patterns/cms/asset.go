package cms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Version is a current or former file of a node.
type Version struct {
	File   bson.ObjectID `bson:"file"` // the _id of the file in GridFS
	Name   string        `bson:"name"`
	Type   string        `bson:"type"` // media type of the content: "image/png"
	Length int64         `bson:"length"`
	SHA256 string        `bson:"sha256"` // hexadecimal
	At     time.Time     `bson:"at"`
}

// upload is the registration of an upload in progress, stored in its node. While it exists, no
// process deletes the upload's chunks.
type upload struct {
	File  bson.ObjectID `bson:"file"`
	Until time.Time     `bson:"until"`
}

// Upload stores a new file for a node that was read as base, and returns the changed node. Readers
// see the old file until the new file is complete. Upload returns a *ConflictError if somebody else
// has saved the node meanwhile; the new file is then discarded.
func (c *CMS) Upload(ctx context.Context, base Node, name, contentType string, source io.Reader) (Node, error) {
	if len(name) > MaxName || len(contentType) > MaxName {
		return Node{}, ErrBadNode
	}
	v := Version{File: bson.NewObjectID(), Name: name, Type: contentType}
	if err := c.register(ctx, base, v.File); err != nil {
		return Node{}, err
	}
	n, err := c.upload(ctx, base, v, source)
	if err != nil {
		// Clean up now if possible: otherwise a later Sweep does it. Remove the registration first,
		// and then the file.
		drop := bson.D{{"$pull", bson.D{{"uploads", bson.D{{"file", v.File}}}}}}
		clean := context.WithoutCancel(ctx)
		if _, failed := c.nodes.UpdateOne(clean, bson.D{{"_id", base.ID}},
			drop); failed == nil && !c.attached(clean, v.File) {
			_ = c.remove(clean, v.File)
		}
	}
	return n, err
}

// register stores in the node that an upload is in progress.
func (c *CMS) register(ctx context.Context, base Node, file bson.ObjectID) error {
	when := append(base.unchanged(), bson.E{
		fmt.Sprintf("uploads.%d", MaxUploads-1), bson.D{{"$exists", false}},
	})
	push := bson.D{{"$push", bson.D{{"uploads", upload{File: file, Until: c.env.Now().Add(c.cfg.Lease)}}}}}
	res, err := c.nodes.UpdateOne(ctx, when, push)
	if err != nil {
		return fmt.Errorf("cms: register an upload for %s: %w", base.ID.Hex(), err)
	}
	if res.MatchedCount > 0 {
		return nil
	}
	err = c.conflict(ctx, base)
	if errors.Is(err, ErrBase) {
		return ErrBusy
	}
	return err
}

// upload writes the file and then attaches it to the node.
func (c *CMS) upload(ctx context.Context, base Node, v Version, source io.Reader) (Node, error) {
	meta := options.GridFSUpload().SetMetadata(bson.D{{"node", base.ID}, {"type", v.Type}})
	stream, err := c.bucket().OpenUploadStreamWithID(ctx, v.File, v.Name, meta)
	if err != nil {
		return Node{}, fmt.Errorf("cms: upload %s: %w", v.Name, err)
	}
	sum := sha256.New()
	lease := &keeper{cms: c, ctx: ctx, node: base.ID, file: v.File, renew: c.env.Now().Add(c.cfg.Lease / 3)}
	v.Length, err = io.Copy(io.MultiWriter(lease, sum, stream), source)
	if err == nil {
		err = stream.Close()
	}
	if err != nil {
		return Node{}, fmt.Errorf("cms: upload %s: %w", v.Name, err)
	}
	v.SHA256, v.At = hex.EncodeToString(sum.Sum(nil)), c.env.Now()
	return c.attach(ctx, base, v)
}

// attach makes a complete file the file of the node, if the upload is still registered. The same
// write ends the upload.
func (c *CMS) attach(ctx context.Context, base Node, v Version) (Node, error) {
	yours := base
	yours.File, yours.Versions = v.File, append(append([]Version(nil), base.Versions...), v)
	n, err := c.save(ctx, yours, append(base.unchanged(), bson.E{"uploads.file", v.File}), bson.D{
		{"$set", bson.D{{"file", v.File}}},
		{"$push", bson.D{{"versions", bson.D{{"$each", []Version{v}}, {"$slice", -c.cfg.Versions}}}}},
		{"$pull", bson.D{{"uploads", bson.D{{"file", v.File}}}}},
	})
	if errors.Is(err, ErrBase) { // the nonce is unchanged, so the upload is not registered any more
		return Node{}, ErrUploadLost
	}
	return n, err
}

// attached reports whether a file belongs to a node. The file can belong to a node although attach
// returned an error: perhaps only the reply of the server was lost.
func (c *CMS) attached(ctx context.Context, file bson.ObjectID) bool {
	n, err := c.nodes.CountDocuments(ctx, bson.D{{"versions.file", file}}, options.Count().SetLimit(1))
	return err != nil || n > 0
}

// keeper renews the registration of an upload while its content arrives.
type keeper struct {
	cms   *CMS
	ctx   context.Context //nolint:containedctx // of the one call that it belongs to: io.Writer has none
	node  bson.ObjectID
	file  bson.ObjectID
	renew time.Time
}

// Write implements io.Writer.
func (k *keeper) Write(p []byte) (int, error) {
	now := k.cms.env.Now()
	if now.Before(k.renew) {
		return len(p), nil
	}
	mine := bson.D{{"_id", k.node}, {"uploads.file", k.file}}
	until := bson.D{{"$set", bson.D{{"uploads.$.until", now.Add(k.cms.cfg.Lease)}}}}
	res, err := k.cms.nodes.UpdateOne(k.ctx, mine, until)
	if err != nil {
		return 0, fmt.Errorf("cms: renew an upload: %w", err)
	}
	if res.MatchedCount == 0 {
		return 0, ErrUploadLost
	}
	k.renew = now.Add(k.cms.cfg.Lease / 3)
	return len(p), nil
}

// Revert makes an older version the file of a node again.
func (c *CMS) Revert(ctx context.Context, base Node, file bson.ObjectID) (Node, error) {
	yours := base
	yours.File = file
	n, err := c.save(ctx, yours, append(base.unchanged(), bson.E{"versions.file", file}),
		bson.D{{"$set", bson.D{{"file", file}}}})
	if errors.Is(err, ErrBase) {
		return Node{}, ErrNoVersion
	}
	return n, err
}

// Open returns the content of a version. The caller must close it. Skip of the stream skips content
// that is not needed.
func (c *CMS) Open(ctx context.Context, file bson.ObjectID) (*mongo.GridFSDownloadStream, error) {
	stream, err := c.bucket().OpenDownloadStream(ctx, file)
	if errors.Is(err, mongo.ErrFileNotFound) {
		return nil, ErrNoVersion
	}
	if err != nil {
		return nil, fmt.Errorf("cms: open %s: %w", file.Hex(), err)
	}
	return stream, nil
}

// remove deletes a file; the driver deletes its document before its chunks.
func (c *CMS) remove(ctx context.Context, file bson.ObjectID) error {
	if err := c.bucket().Delete(ctx, file); err != nil && !errors.Is(err, mongo.ErrFileNotFound) {
		return fmt.Errorf("cms: delete the file %s: %w", file.Hex(), err)
	}
	return nil
}
