package cms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// sweepBatch is the number of files that a sweep checks with one query.
const sweepBatch = 500

// Orphan describes chunks whose file has no document.
type Orphan struct {
	File   any   `bson:"_id"` // the files_id of the chunks
	Chunks int64 `bson:"chunks"`
	// Newest is the time at which the last chunk was written, by the clock of the program that
	// wrote it. It is zero if the _id of the chunk does not contain a time.
	Newest time.Time `bson:"-"`
}

// Orphans lists chunks of any age that have no file and belong to no registered upload. It includes
// uploads in progress by other programs. It reads the whole index of the chunks.
func (c *CMS) Orphans(ctx context.Context) ([]Orphan, error) {
	// The pipeline reads the chunks before it looks for their file. So if it finds no file, the
	// file did not exist when the chunks were read.
	found, err := c.chunks.Aggregate(ctx, mongo.Pipeline{
		{{"$sort", bson.D{{"files_id", 1}, {"n", 1}}}},
		{{"$group", bson.D{{"_id", "$files_id"}, {"chunks", bson.D{{"$sum", int64(1)}}}}}},
		{{"$lookup", bson.D{
			{"from", c.files.Name()}, {"localField", "_id"}, {"foreignField", "_id"}, {"as", "files"},
		}}},
		{{"$match", bson.D{{"files", bson.A{}}}}},
	}, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return nil, fmt.Errorf("cms: look for orphans: %w", err)
	}
	var candidates, orphans []Orphan
	if err := found.All(ctx, &candidates); err != nil {
		return nil, fmt.Errorf("cms: look for orphans: %w", err)
	}
	for _, o := range candidates {
		if id, ours := o.File.(bson.ObjectID); ours {
			owned, err := c.owned(ctx, []bson.ObjectID{id})
			if err != nil {
				return nil, err
			}
			if owned[id] {
				continue
			}
		}
		if o.Newest, err = c.newest(ctx, o.File); err != nil {
			return nil, err
		}
		orphans = append(orphans, o)
	}
	return orphans, nil
}

// newest returns the time at which the last chunk of a file was written. The driver numbers the
// chunks in the order of writing.
func (c *CMS) newest(ctx context.Context, file any) (time.Time, error) {
	last := options.FindOne().SetSort(bson.D{{"n", -1}}).SetProjection(bson.D{{"_id", 1}})
	raw, err := c.chunks.FindOne(ctx, bson.D{{"files_id", bson.D{{"$eq", file}}}}, last).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) { // the chunks were removed meanwhile
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("cms: look for the age of an orphan: %w", err)
	}
	if id, ok := raw.Lookup("_id").ObjectIDOK(); ok {
		return id.Timestamp(), nil
	}
	return time.Time{}, nil
}

// old reports whether an orphan may be deleted.
func (c *CMS) old(o Orphan) bool {
	return !o.Newest.IsZero() && o.Newest.Before(c.env.Now().Add(-c.cfg.Grace))
}

// owned returns the files among the given ones that belong to a version or a registered upload of a
// node.
func (c *CMS) owned(ctx context.Context, files []bson.ObjectID) (map[bson.ObjectID]bool, error) {
	owned := map[bson.ObjectID]bool{}
	// Read uploads before versions: attach moves a file from uploads to versions.
	for _, field := range []string{"uploads", "versions"} {
		found, err := c.nodes.Find(ctx, bson.D{{field + ".file", bson.D{{"$in", files}}}},
			options.Find().SetProjection(bson.D{{"uploads", 1}, {"versions", 1}}))
		if err != nil {
			return nil, fmt.Errorf("cms: look for the owners of files: %w", err)
		}
		var nodes []Node
		if err := found.All(ctx, &nodes); err != nil {
			return nil, fmt.Errorf("cms: look for the owners of files: %w", err)
		}
		for _, n := range nodes {
			for _, u := range n.Uploads {
				owned[u.File] = true
			}
			for _, v := range n.Versions {
				owned[v.File] = true
			}
		}
	}
	return owned, nil
}

// Swept counts the deletions of a sweep.
type Swept struct {
	Uploads int64 // nodes with uploads that were given up
	Files   int64 // deleted files that belonged to no node
	Orphans int64 // deleted groups of chunks without a file
}

// Sweep gives up uploads whose lease has ended, and deletes files and chunks without an owner that
// are older than Config.Grace. It reads all files and the whole index of chunks: run it when the
// server has little other work.
func (c *CMS) Sweep(ctx context.Context) (Swept, error) {
	var done Swept
	// An upload that is not registered any more cannot be attached to its node.
	now := c.env.Now()
	res, err := c.nodes.UpdateMany(ctx, bson.D{
		{"uploads.file", bson.D{{"$exists", true}}},
		{"uploads.until", bson.D{{"$lte", now}}},
	}, bson.D{{"$pull", bson.D{{"uploads", bson.D{{"until", bson.D{{"$lte", now}}}}}}}})
	if err != nil {
		return done, fmt.Errorf("cms: give up uploads: %w", err)
	}
	done.Uploads = res.ModifiedCount
	unowned, err := c.unowned(ctx)
	if err != nil {
		return done, err
	}
	for _, file := range unowned {
		if err := c.remove(ctx, file); err != nil {
			return done, err
		}
		done.Files++
	}
	orphans, err := c.Orphans(ctx)
	if err != nil {
		return done, err
	}
	for _, o := range orphans {
		if !c.old(o) {
			continue
		}
		// The driver has no call that deletes chunks without a file.
		if _, err := c.chunks.DeleteMany(ctx, bson.D{{"files_id", bson.D{{"$eq", o.File}}}}); err != nil {
			return done, fmt.Errorf("cms: delete the chunks of %v: %w", o.File, err)
		}
		done.Orphans++
	}
	if done != (Swept{}) {
		c.env.Logger.Info("assets were swept", "uploads", done.Uploads, "files", done.Files, "orphans", done.Orphans)
	}
	return done, nil
}

// Repair calls Sweep and returns the number of deletions.
func (c *CMS) Repair(ctx context.Context) (int64, error) {
	done, err := c.Sweep(ctx)
	return done.Uploads + done.Files + done.Orphans, err
}

// Run calls Sweep in a loop until ctx ends, and returns the error of ctx.
func (c *CMS) Run(ctx context.Context) error {
	for {
		if err := c.env.Clock.Sleep(ctx, c.cfg.Every); err != nil {
			return err
		}
		if _, err := c.Sweep(ctx); err != nil {
			c.env.Logger.Error("the assets could not be swept", "error", err)
		}
	}
}

// unowned returns the old files of this package that belong to no node. Files of other programs in
// the bucket, which name no node, are not included.
func (c *CMS) unowned(ctx context.Context) (out []bson.ObjectID, err error) {
	last := bson.NilObjectID
	for {
		// A file is registered before it exists, and is never registered again: if it had no owner
		// when it was read, it will never have one.
		next := append(ours(), bson.E{"_id", bson.D{{"$gt", last}}})
		found, err := c.files.Find(ctx, next,
			options.Find().SetSort(bson.D{{"_id", 1}}).SetLimit(sweepBatch))
		if err != nil {
			return nil, fmt.Errorf("cms: read the files: %w", err)
		}
		var files []file
		if err := found.All(ctx, &files); err != nil {
			return nil, fmt.Errorf("cms: read the files: %w", err)
		}
		if len(files) == 0 {
			return out, nil
		}
		ids := make([]bson.ObjectID, len(files))
		for i, f := range files {
			ids[i] = f.ID
		}
		owned, err := c.owned(ctx, ids)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if !owned[f.ID] && f.At.Before(c.env.Now().Add(-c.cfg.Grace)) {
				out = append(out, f.ID)
			}
		}
		last = files[len(files)-1].ID
	}
}

// file is a document of the files collection of GridFS.
type file struct {
	ID     bson.ObjectID `bson:"_id"`
	Length int64         `bson:"length"`
	Chunk  int64         `bson:"chunkSize"`
	At     time.Time     `bson:"uploadDate"`
}

// ours returns the condition that selects the files written by this package.
func ours() bson.D {
	return bson.D{{"metadata.node", bson.D{{"$type", "objectId"}}}}
}
