package crud

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

// insertBatch holds the documents of an insert that are valid, and the errors of the other
// documents.
type insertBatch struct {
	req  *command.Request
	opts write.Options
	docs []bsonx.Doc
	// position[i] is the index in the command of docs[i]. It is nil while the two indexes are
	// equal.
	position []int
	// executed is the number of documents that an earlier attempt of the command has inserted.
	executed int
	// refused is the first invalid document of an ordered insert. The documents before it are still
	// inserted.
	refused *writeError
	errors  writeErrors
}

func newInsertBatch(req *command.Request) *insertBatch {
	return &insertBatch{
		req:  req,
		opts: singleCommit(req, writeOptions(req), req.DocumentCount("documents") == 1), docs: req.Memory.Docs[:0],
	}
}

// prepare checks all documents and adds an _id to those without one.
func (b *insertBatch) prepare() error {
	timestamp := insertTime(b.req)
	bad := false // true once a document is not in docs
	return b.req.Documents("documents", func(i int, doc bsonx.Doc) error {
		if b.refused != nil {
			return nil // the ordered insert ends at refused; later elements need only be documents
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
				b.refused = &writeError{Index: i, Err: command.UserError(err)}
			} else {
				b.errors.add(i, err)
			}
			return nil
		}
		if bad && b.position == nil {
			b.position = make([]int, len(b.docs), b.req.DocumentCount("documents"))
			for j := range b.position {
				b.position[j] = j
			}
			// The documents in docs come before the first one that was left out, so the position
			// of docs[j] is j.
		}
		if b.position != nil {
			b.position = append(b.position, i)
		}
		b.docs = append(b.docs, prepared)
		return nil
	})
}

// failed records the error of the document docs[i].
func (b *insertBatch) failed(i int, err error) {
	if b.position != nil {
		i = b.position[i]
	}
	b.errors.add(i, err)
}

// finish adds the error of refused if all inserted documents succeeded, that is, if the ordered
// insert reached it. It sorts the errors by index.
func (b *insertBatch) finish(inserted int) {
	if b.refused != nil && inserted == len(b.docs) {
		b.errors.add(b.refused.Index, b.refused.Err)
	}
	slices.SortFunc(b.errors.items, func(x, y writeError) int { return x.Index - y.Index })
}
