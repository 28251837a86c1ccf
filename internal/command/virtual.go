package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Virtual collections present state of the server as collections, where MongoDB has real
// collections. Their documents are generated when they are read, and nobody can write to them.

// virtualCollection describes one virtual collection.
type virtualCollection struct {
	db, name string
	member   bool // exists only on a member of a replica set
	// page generates one page of documents. after is the position where the page begins; nil means
	// the first page. page also returns the position of the next page, or nil after the last page.
	page func(v *virtualReader, after *retryable.Session) ([]bsonx.Doc, *retryable.Session, error)
	// space measures the stored data behind the documents. It is nil if none is stored.
	space func(storage.Engine) (storage.Usage, error)
}

var virtualCollections = []virtualCollection{
	{db: "admin", name: "system.version", page: whole((*virtualReader).versions)},
	{db: "config", name: "image_collection", member: true, page: (*virtualReader).images},
	{db: "config", name: "system.sessions", page: whole((*virtualReader).sessions)},
	{db: "config", name: "transactions", member: true, page: (*virtualReader).transactions, space: retryable.Usage},
	{db: "local", name: "system.replset", member: true, page: whole((*virtualReader).configuration)},
}

// virtualPage is the number of sessions whose documents are generated at a time.
const virtualPage = 1000

// whole returns a page function that returns all documents in one page.
func whole(docs func(*virtualReader) []bsonx.Doc) func(*virtualReader,
	*retryable.Session) ([]bsonx.Doc, *retryable.Session, error) {
	return func(v *virtualReader, _ *retryable.Session) ([]bsonx.Doc, *retryable.Session, error) {
		return docs(v), nil, nil
	}
}

// NotStored returns the error for a write to a virtual collection.
func NotStored(c *table.Collection) error {
	return mongoerr.New(mongoerr.IllegalOperation,
		"%s shows the state of the server and cannot be written to", c.Namespace())
}

// Entries returns the catalog entries of a database, including its virtual collections, sorted by
// name.
func (s *Service) Entries(db string) []*table.Entry {
	out := s.Store.Catalog().Collections(db)
	for _, v := range s.Virtual {
		if c := s.Store.Lookup(db, v.name); v.db == db && read.IsVirtual(c) {
			out = append(out, c.Collection)
		}
	}
	slices.SortFunc(out, func(a, b *table.Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Databases returns the sorted names of all databases, including those that have only virtual
// collections.
func (s *Service) Databases() []string {
	out := s.Store.Catalog().Databases()
	for _, v := range s.Virtual {
		if i, found := slices.BinarySearch(out, v.db); !found {
			out = slices.Insert(out, i, v.db)
		}
	}
	return out
}

// virtualReader generates the documents of a virtual collection. It is a source.Source.
type virtualReader struct {
	source.Slice
	collection *virtualCollection
	service    *Service
	local      string // the address that the client has connected to
	after      *retryable.Session
	begun      bool
}

// readVirtual returns a source of the documents of a virtual collection. local is the address that
// the client has connected to. It panics if c is not a virtual collection.
func (s *Service) readVirtual(c *table.Collection, local string) *virtualReader {
	for _, v := range s.Virtual {
		if v.db == c.DB && v.name == c.Name {
			return &virtualReader{collection: v, service: s, local: local}
		}
	}
	panic(fmt.Sprintf("command: %s is no virtual collection", c.Namespace()))
}

// Next implements source.Source.
func (v *virtualReader) Next(ctx context.Context) (bsonx.Doc, error) {
	for {
		doc, err := v.Slice.Next(ctx)
		if doc != nil || err != nil || v.begun && v.after == nil {
			return doc, err
		}
		v.begun = true
		if v.Docs, v.after, err = v.collection.page(v, v.after); err != nil {
			return nil, err
		}
		v.Slice = source.Slice{Docs: v.Docs}
	}
}

// VirtualSizes measures a virtual collection. The space on disk of the records of retryable writes
// counts only for config.transactions, although config.image_collection shows the same records.
func (s *Service) VirtualSizes(c *table.Collection, local string) (out Sizes, err error) {
	v := s.readVirtual(c, local)
	if out.Storage, err = s.virtualSpace(v.collection); err != nil {
		return Sizes{}, err
	}
	err = source.Drain(context.Background(), v, func(doc bsonx.Doc) error {
		out.Count++
		out.Data += int64(len(doc))
		return nil
	})
	return out, err
}

func (s *Service) virtualSpace(v *virtualCollection) (int64, error) {
	if v.space == nil {
		return 0, nil
	}
	u, err := v.space(s.Store.Engine())
	return u.Total(), err
}

// versions returns the documents of admin.system.version.
func (v *virtualReader) versions() []bsonx.Doc {
	return []bsonx.Doc{bsonx.NewDoc("_id", "featureCompatibilityVersion", "version", FeatureVersion)}
}

// configuration returns the document of local.system.replset: the configuration of the set. Its
// member has the same name as in hello and replSetGetConfig.
func (v *virtualReader) configuration() []bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	v.service.AppendConfig(b, v.service.Member(v.local))
	b.End()
	return []bsonx.Doc{b.Bytes()}
}

// sessions returns the documents of config.system.sessions. Sessions are only in memory, so a
// restart ends them.
func (v *virtualReader) sessions() []bsonx.Doc {
	registry := v.service.Sessions
	return SessionDocs(registry, registry.All(func(session.SessionID) bool { return true }))
}

// transactions returns documents of config.transactions: the newest transaction number of each
// session, with its state.
func (v *virtualReader) transactions(after *retryable.Session) ([]bsonx.Doc, *retryable.Session, error) {
	return v.histories(after, func(docs []bsonx.Doc, h *retryable.SessionHistory) []bsonx.Doc {
		last := int64(0)
		for i := range h.Records {
			last = max(last, h.Records[i].Time)
		}
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		b.Doc("_id", recordedSession(&h.Session))
		b.Int64("txnNum", h.TxnNumber)
		b.Date("lastWriteDate", last)
		if h.Committed() {
			b.String("state", "committed")
		}
		b.End()
		return append(docs, b.Bytes())
	})
}

// images returns documents of config.image_collection: the documents that findAndModify returned,
// for a retry of it.
func (v *virtualReader) images(after *retryable.Session) ([]bsonx.Doc, *retryable.Session, error) {
	return v.histories(after, func(docs []bsonx.Doc, h *retryable.SessionHistory) []bsonx.Doc {
		for i := range h.Records {
			r := &h.Records[i]
			if r.Value == nil {
				continue
			}
			b := bsonx.NewBuilder(nil)
			b.StartDoc()
			b.Doc("_id", recordedSession(&h.Session))
			b.Int64("txnNum", h.TxnNumber)
			if r.Kind == retryable.ModifyDelete {
				b.String("imageKind", "preImage")
			}
			b.Doc("image", r.Value)
			b.Bool("invalidated", false)
			b.End()
			docs = append(docs, b.Bytes())
		}
		return docs
	})
}

func (v *virtualReader) histories(
	after *retryable.Session, add func([]bsonx.Doc, *retryable.SessionHistory) []bsonx.Doc,
) ([]bsonx.Doc, *retryable.Session, error) {
	page, next, err := retryable.Page(v.service.Store.Engine(), after, virtualPage)
	var docs []bsonx.Doc
	for i := range page {
		docs = add(docs, &page[i])
	}
	return docs, next, err
}

// recordedSession returns a session id in MongoDB's format for a session with a user.
func recordedSession(s *retryable.Session) bsonx.Doc {
	return bsonx.NewDoc("id", bsonx.Binary(bsonx.UUIDSubtype, s[:16]), "uid", bsonx.Binary(0, s[16:]))
}

// SessionDocs returns the documents of config.system.sessions for the sessions with these ids. It
// skips unknown ids.
func SessionDocs(registry *session.Sessions, ids []session.SessionID) []bsonx.Doc {
	var docs []bsonx.Doc
	for _, id := range ids {
		s := registry.Lookup(id)
		if s == nil {
			continue
		}
		docs = append(docs, bsonx.NewDoc(
			"_id", bsonx.NewDoc("id", bsonx.Binary(bsonx.UUIDSubtype, id.UUID[:]), "uid", bsonx.Binary(0, id.User[:])),
			"lastUse", bsonx.Date(s.LastUse().UnixMilli()),
		))
	}
	return docs
}
