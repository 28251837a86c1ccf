package changestream

import (
	"cmp"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// maxEvent is the size in bytes of the largest event that is not split. It leaves room in a reply
// for the resume token of the batch.
const maxEvent = limits.InternalDocumentBytes - 8<<10

// Splitter implements $changeStreamSplitLargeEvent: it splits an event that is too large for a
// reply into several fragments, each with some of the event's fields.
type Splitter struct {
	// after is the token of the fragment after which the stream continues. Only the first event is
	// compared with it; then it is nil.
	after *Token
}

// NewSplitter returns a Splitter for the stream that spec describes.
func NewSplitter(spec *Spec) *Splitter {
	s := &Splitter{}
	if spec.After != nil && spec.After.Fragment > 0 {
		s.after = spec.After
	}
	return s
}

// CheckFragment returns an error if the stream resumes after a fragment. Call it for a stream
// without a Splitter, which cannot do so.
func (s *Spec) CheckFragment() error {
	if s.After != nil && s.After.Fragment > 0 {
		return mongoerr.New(mongoerr.ChangeStreamFatalError,
			"To resume from a split event, the $changeStream pipeline must include a $changeStreamSplitLargeEvent stage")
	}
	return nil
}

// Split returns the fragments of an event that the client has not seen yet. whole is true if the
// event is not too large: the caller then returns the event unchanged. The event's _id is its
// resume token.
func (s *Splitter) Split(event bsonx.Doc) (fragments []bsonx.Doc, whole bool, err error) {
	id := event.Lookup("_id").Doc()
	size := len(event) + len(id)
	skip, err := s.seen(id, size)
	if err != nil {
		return nil, false, err
	}
	if size+len(id) <= maxEvent {
		return nil, true, nil
	}
	fragments, err = split(event, id, maxEvent-len(id))
	if err != nil {
		return nil, false, err
	}
	if skip > len(fragments) {
		return nil, false, mongoerr.New(mongoerr.ChangeStreamFatalError, "Attempted to resume from a split event, but the resumed stream "+
			"produced a different split. Ensure that the pipeline used to resume is the same as the original")
	}
	return fragments[skip:], false, nil
}

// seen returns how many fragments of an event the client has seen.
func (s *Splitter) seen(id bsonx.Doc, size int) (int, error) {
	if s.after == nil {
		return 0, nil
	}
	after := s.after
	s.after = nil
	if t, err := parseToken(id); err != nil || !t.sameEvent(after) {
		return 0, err
	}
	if size+len(id) <= maxEvent {
		return 0, mongoerr.New(mongoerr.ChangeStreamFatalError,
			"Attempted to resume from a split event fragment, but the event in the resumed stream was not large enough to be split")
	}
	return int(after.Fragment), nil
}

// split distributes the fields of an event over fragments of at most limit bytes. The smallest
// fields come first, so that the first fragment has as many fields as possible.
func split(event, id bsonx.Doc, limit int) ([]bsonx.Doc, error) {
	var fields []bsonx.Elem
	for it := event.Iter(); it.Next(); {
		if string(it.Key()) != "_id" {
			fields = append(fields, it.Elem())
		}
	}
	slices.SortStableFunc(fields, func(a, b bsonx.Elem) int {
		return cmp.Or(cmp.Compare(fieldSize(a), fieldSize(b)), cmp.Compare(string(a.Key), string(b.Key)))
	})
	var groups [][]bsonx.Elem
	frame := len(fragment(fragmentToken(id, len(fields)), 1, 1, nil))
	size := limit + 1
	for _, f := range fields {
		if n := fieldSize(f); size+n > limit {
			groups, size = append(groups, nil), frame
		}
		size += fieldSize(f)
		if size > limit {
			return nil, mongoerr.New(7182500, "Splitting change event failed: fragment size %d is greater than maximum allowed fragment size %d", size, limit)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], f)
	}
	out := make([]bsonx.Doc, len(groups))
	for i, g := range groups {
		out[i] = fragment(fragmentToken(id, i+1), i+1, len(groups), g)
	}
	return out, nil
}

// fieldSize returns the number of bytes of a field in a document: its type, its name with a zero,
// and its value.
func fieldSize(e bsonx.Elem) int { return 2 + len(e.Key) + len(e.Value.Data) }

func fragment(id bsonx.Doc, number, of int, fields []bsonx.Elem) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Doc("_id", id)
	b.StartDocField("splitEvent")
	b.Int32("fragment", int32(number))
	b.Int32("of", int32(of))
	b.End()
	for _, f := range fields {
		b.ValueBytes(f.Key, f.Value)
	}
	b.End()
	return b.Bytes()
}
