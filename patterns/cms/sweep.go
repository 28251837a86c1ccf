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

// sweepBatch is how many files a sweep looks at with one query.
const sweepBatch = 500

// Orphan is a file of which there are chunks only.
type Orphan struct {
	File   any   `bson:"_id"` // the files_id of its chunks
	Chunks int64 `bson:"chunks"`
	// Newest is when the last of them was written, by the clock of the program that did; zero if
	// their _id does not tell.
	Newest time.Time `bson:"-"`
}

// Orphans lists the chunks that have no file and that no upload of this package is about to give
// one, of whatever age: what another program is uploading at this moment is among them. It reads
// the index of the chunks as a whole.
func (c *CMS) Orphans(ctx context.Context) ([]Orphan, error) {
	// Chunks are seen before their file is asked for: one that is found to have none has not had it
	// when it was seen.
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

// newest returns when the last chunk of a file was written: the driver numbers them as it writes.
func (c *CMS) newest(ctx context.Context, file any) (time.Time, error) {
	last := options.FindOne().SetSort(bson.D{{"n", -1}}).SetProjection(bson.D{{"_id", 1}})
	raw, err := c.chunks.FindOne(ctx, bson.D{{"files_id", bson.D{{"$eq", file}}}}, last).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) { // removed meanwhile
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

// old reports whether an orphan may be removed.
func (c *CMS) old(o Orphan) bool {
	return !o.Newest.IsZero() && o.Newest.Before(c.env.Now().Add(-c.cfg.Grace))
}

// owned returns those of some files that a node has, had lately, or is about to have.
func (c *CMS) owned(ctx context.Context, files []bson.ObjectID) (map[bson.ObjectID]bool, error) {
	owned := map[bson.ObjectID]bool{}
	// in this order: attach moves a file from the first to the second
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

// Swept is what a sweep has done.
type Swept struct {
	Uploads int64 // nodes with uploads that were given up
	Files   int64 // that belonged to no node
	Orphans int64 // files of which there were chunks only
}

// Sweep gives up uploads whose lease has ended, and deletes the files and the chunks that belong to
// nothing and are older than Config.Grace. It reads much: let it run when there is little else to
// do.
func (c *CMS) Sweep(ctx context.Context) (Swept, error) {
	var done Swept
	// The fence: an upload that is not registered any more can not become the node's.
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
		// The driver does not offer to delete chunks without a file.
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

// Repair is Sweep.
func (c *CMS) Repair(ctx context.Context) (int64, error) {
	done, err := c.Sweep(ctx)
	return done.Uploads + done.Files + done.Orphans, err
}

// Run sweeps from time to time, until ctx ends, whose error it returns.
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

// unowned returns the files of this package that are old and that no node has. Others' files in the
// bucket, which name no node, are theirs.
func (c *CMS) unowned(ctx context.Context) (out []bson.ObjectID, err error) {
	last := bson.NilObjectID
	for {
		// A file is registered before it exists, and never again later: one that has no owner when
		// it was seen will never have one.
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

// file is a document of GridFS.
type file struct {
	ID     bson.ObjectID `bson:"_id"`
	Length int64         `bson:"length"`
	Chunk  int64         `bson:"chunkSize"`
	At     time.Time     `bson:"uploadDate"`
}

// ours is the condition of files that this package has written.
func ours() bson.D {
	return bson.D{{"metadata.node", bson.D{{"$type", "objectId"}}}}
}
