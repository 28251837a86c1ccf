package crud

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

// insertBatch is the documents of an insert that can be stored, and the errors of those that cannot.
type insertBatch struct {
	req  *command.Request
	opts write.Options
	docs []bsonx.Doc
	// position[i] is where docs[i] stands in the command; nil while all documents before are good.
	position []int
	// executed is how many documents were inserted when the command was sent before.
	executed int
	// refused is the first bad document of an ordered batch: those before it are still inserted.
	refused *command.WriteError
	errors  command.WriteErrors
}

func newInsertBatch(req *command.Request) *insertBatch {
	return &insertBatch{req: req, opts: singleCommit(req, writeOptions(req), req.DocumentCount("documents") == 1), docs: req.Memory.Docs[:0]}
}

// prepare gives each document its _id and checks it.
func (b *insertBatch) prepare() error {
	timestamp := insertTime(b.req)
	bad := false // whether a document before is not in docs
	return b.req.Documents("documents", func(i int, doc bsonx.Doc) error {
		if b.refused != nil {
			return nil // an ordered batch has ended; the rest is only checked to be documents
		}
		if executed(b.req, i) != nil {
			b.executed++
			bad = true
			return nil
		}
		prepared, err := update.PrepareInsert(doc, nil, timestamp)
		if err != nil {
			bad = true
			if b.opts.Ordered {
				b.refused = &command.WriteError{Index: i, Err: command.UserError(err)}
			} else {
				b.errors.Add(i, err)
			}
			return nil
		}
		if bad && b.position == nil {
			b.position = make([]int, len(b.docs), b.req.DocumentCount("documents"))
			for j := range b.position {
				b.position[j] = j
			}
			// All before the first bad document stand at their own index.
		}
		if b.position != nil {
			b.position = append(b.position, i)
		}
		b.docs = append(b.docs, prepared)
		return nil
	})
}

// failed records the error of docs[i].
func (b *insertBatch) failed(i int, err error) {
	if b.position != nil {
		i = b.position[i]
	}
	b.errors.Add(i, err)
}

// finish adds the error of the document that ended an ordered batch, if the batch came so far.
func (b *insertBatch) finish(inserted int) {
	if b.refused != nil && inserted == len(b.docs) {
		b.errors.Add(b.refused.Index, b.refused.Err)
	}
	slices.SortFunc(b.errors.Items, func(x, y command.WriteError) int { return x.Index - y.Index })
}
