package cms

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleNonce   = "each node has a nonce of its own"
	RuleSlug    = "a slug is used once in a section"
	RuleVersion = "the file of a node is one of its versions"
	RuleFile    = "each version exists, with the length that its node says"
	RuleChunks  = "a file has the chunks, and they the length, that its document says"
	RuleOwner   = "a file belongs to a node"
	RuleOrphan  = "a chunk belongs to a file"
)

// checker collects violations.
type checker struct {
	*CMS
	out []patterns.Violation
}

func (k *checker) violate(rule string, coll *mongo.Collection, id any, format string, args ...any) {
	k.out = append(k.out, patterns.Violation{
		Rule: rule, Collection: coll.Name(), ID: id,
		Detail: fmt.Sprintf(format, args...),
	})
}

// Check reads all nodes and files and lists the violations of the rules. Files and chunks without
// an owner are violations only if they are older than Config.Grace.
func (c *CMS) Check(ctx context.Context) ([]patterns.Violation, error) {
	k := &checker{CMS: c}
	for _, check := range []func(context.Context) error{k.nodesSound, k.filesSound, k.nothingLeft} {
		if err := check(ctx); err != nil {
			return nil, err
		}
	}
	return k.out, nil
}

func (k *checker) nodesSound(ctx context.Context) error {
	nonces, slugs := map[bson.ObjectID]bool{}, map[[2]string]bool{}
	return patterns.Each(ctx, k.nodes, bson.D{}, func(n *Node) error {
		if n.Nonce.IsZero() || nonces[n.Nonce] {
			k.violate(RuleNonce, k.nodes, n.ID, "%s", n.Nonce.Hex())
		}
		nonces[n.Nonce] = true
		slug := [2]string{n.Metadata.Section, n.Metadata.Slug}
		if slugs[slug] {
			k.violate(RuleSlug, k.nodes, n.ID, "%s/%s", slug[0], slug[1])
		}
		slugs[slug] = true
		return k.versionsSound(ctx, n)
	})
}

func (k *checker) versionsSound(ctx context.Context, n *Node) error {
	shown := n.File.IsZero()
	lengths := map[bson.ObjectID]int64{}
	ids := bson.A{}
	for _, v := range n.Versions {
		shown = shown || v.File == n.File
		ids = append(ids, v.File)
	}
	if !shown {
		k.violate(RuleVersion, k.nodes, n.ID, "%s of %d versions", n.File.Hex(), len(n.Versions))
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := k.files.Find(ctx, bson.D{{"_id", bson.D{{"$in", ids}}}})
	if err != nil {
		return fmt.Errorf("cms: check the versions of %s: %w", n.ID.Hex(), err)
	}
	var files []file
	if err := found.All(ctx, &files); err != nil {
		return fmt.Errorf("cms: check the versions of %s: %w", n.ID.Hex(), err)
	}
	for _, f := range files {
		lengths[f.ID] = f.Length
	}
	for _, v := range n.Versions {
		if length, exists := lengths[v.File]; !exists || length != v.Length {
			k.violate(RuleFile, k.nodes, n.ID, "%s of %d bytes: exists %v, %d bytes",
				v.File.Hex(), v.Length, exists, length)
		}
	}
	return nil
}

// filesSound compares files with their chunks. The server counts the chunks.
func (k *checker) filesSound(ctx context.Context) error {
	found, err := k.chunks.Aggregate(ctx, mongo.Pipeline{
		{{"$group", bson.D{
			{"_id", "$files_id"},
			{"chunks", bson.D{{"$sum", int64(1)}}},
			{"last", bson.D{{"$max", "$n"}}},
			{"length", bson.D{{"$sum", bson.D{{"$binarySize", "$data"}}}}},
		}}},
	}, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return fmt.Errorf("cms: check the chunks: %w", err)
	}
	type content struct {
		File   any   `bson:"_id"`
		Chunks int64 `bson:"chunks"`
		Last   int64 `bson:"last"`
		Length int64 `bson:"length"`
	}
	var all []content
	if err := found.All(ctx, &all); err != nil {
		return fmt.Errorf("cms: check the chunks: %w", err)
	}
	contents := map[any]content{}
	for _, one := range all {
		if id, ours := one.File.(bson.ObjectID); ours {
			contents[id] = one
		}
	}
	return patterns.Each(ctx, k.files, ours(), func(f *file) error {
		is := contents[f.ID]
		if want := (f.Length + f.Chunk - 1) / max(f.Chunk, 1); is.Chunks != want || is.Length != f.Length ||
			want > 0 && is.Last != want-1 {
			k.violate(RuleChunks, k.files, f.ID, "%d chunks of %d, %d bytes of %d",
				is.Chunks, want, is.Length, f.Length)
		}
		return nil
	})
}

func (k *checker) nothingLeft(ctx context.Context) error {
	unowned, err := k.unowned(ctx)
	if err != nil {
		return err
	}
	for _, id := range unowned {
		k.violate(RuleOwner, k.files, id, "no node has it, or is about to")
	}
	orphans, err := k.Orphans(ctx)
	if err != nil {
		return err
	}
	for _, o := range orphans {
		if k.old(o) {
			k.violate(RuleOrphan, k.chunks, o.File, "%d chunks, the last one of %v", o.Chunks, o.Newest)
		}
	}
	return nil
}
