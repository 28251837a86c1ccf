package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// buildFailed is called with the error of a failed index build. If a record was refused, it adds
// the UUID of the build and the collection to the message, as MongoDB does, and logs the failure
// with the UUID of the build. It returns other errors unchanged.
func buildFailed(s *table.Store, c *table.Collection, err error) error {
	var refused *table.RefusedRecord
	if !errors.As(err, &refused) {
		return err
	}
	build := uuidText(table.NewUUID())
	s.Logger().Info("index build failed", "buildUUID", build, "ns", c.Namespace(), "error", err)
	return failedBuild(build, c, err)
}

func failedBuild(build string, c *table.Collection, err error) error {
	return mongoerr.Within(fmt.Sprintf("Index build failed: %s: Collection %s ( %s )", build,
		c.Namespace(), uuidText(c.UUID)), err)
}

// RefuseBuild adds the UUID of a build, and the collection, to the error of an index that cannot be
// built, as MongoDB does. If the collection does not exist, it returns err unchanged.
func RefuseBuild(c *table.Collection, err error) error {
	if c.UUID == [16]byte{} {
		return err
	}
	return failedBuild(uuidText(table.NewUUID()), c, err)
}

// uuidText returns a UUID in its usual text form.
func uuidText(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// CreateIndexes builds indexes from specifications that were checked against c. It fails with
// ErrChanged if c is not the newest version. Writers continue during the build. Readers use the
// indexes after all of them are complete. If one index cannot be built, CreateIndexes removes all
// of them.
func CreateIndexes(ctx context.Context, s *table.Store, c *table.Collection, specs []bsonx.Doc) error {
	if s.IsLive(c) {
		return errLiveOplog("build an index of the")
	}
	var ids []uint32
	err := modify(s, c, func(ch *table.CatalogChange, entry *table.Entry) error {
		if err := c.Unchanged(); err != nil {
			return err
		}
		entry.Indexes = slices.Clone(entry.Indexes)
		ids = ids[:0]
		for _, spec := range specs {
			ix := catalog.NewIndex(ch.NewID(), spec.Clone())
			if entry.Index(ix.Name) != nil {
				return mongoerr.New(mongoerr.IndexBuildAlreadyInProgress,
					"Index already exists or is being built: %s", ix.Name)
			}
			entry.Indexes = append(entry.Indexes, ix)
			ids = append(ids, ix.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := build(ctx, s, c, ids); err != nil {
		return errors.Join(buildFailed(s, c, err), dropUnbuilt(s, c, ids))
	}
	return nil
}
