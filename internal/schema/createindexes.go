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

// buildFailed names the build and the collection in the error of a record that a new index cannot
// have, as MongoDB does. The log has the build under the same name. Other errors stay as they are.
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
	return mongoerr.Within(fmt.Sprintf("Index build failed: %s: Collection %s ( %s )", build, c.Namespace(), uuidText(c.UUID)), err)
}

// RefuseBuild names a build and the collection in the error of an index that cannot be built, as
// MongoDB does. It returns the error of an index on a collection that does not exist as it is.
func RefuseBuild(c *table.Collection, err error) error {
	if c.UUID == [16]byte{} {
		return err
	}
	return failedBuild(uuidText(table.NewUUID()), c, err)
}

// uuidText writes a UUID in its usual form.
func uuidText(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// CreateIndexes builds indexes from specifications that were checked against c: it fails with
// ErrChanged where c is not the newest version. Writers go on during the build; readers use the
// indexes when all are complete. Where one cannot be built, none is left.
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
				return mongoerr.New(mongoerr.IndexBuildAlreadyInProgress, "Index already exists or is being built: %s", ix.Name)
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
