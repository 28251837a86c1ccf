package transfer

import (
	"context"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Export writes the documents of a cursor and returns their number. It calls progress from time to
// time. progress may be nil.
func Export(ctx context.Context, cursor *mongo.Cursor, w Writer, progress func(done int64)) (int64, error) {
	defer func() { _ = cursor.Close(context.WithoutCancel(ctx)) }()
	var n int64
	for cursor.Next(ctx) {
		if err := w.Write(cursor.Current); err != nil {
			return n, err
		}
		if n++; ctx.Err() != nil {
			return n, ctx.Err() // Next does not check ctx while it has a batch
		}
		if progress != nil && n%batchDocuments == 0 {
			progress(n)
		}
	}
	if err := cursor.Err(); err != nil {
		return n, err
	}
	if progress != nil {
		progress(n)
	}
	return n, w.Close()
}

// splitPath splits a dotted path.
func splitPath(path string) []string { return strings.Split(path, ".") }
