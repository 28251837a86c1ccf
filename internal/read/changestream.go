package read

import (
	"context"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changestream"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/session"
)

// OpenChangeStream opens a change stream over a collection, a database or the server. rest holds
// the stages after $changeStream.
func (v Reads) OpenChangeStream(sc Scope, db, name string, arg, rest bsonx.Value) (*ChangeSource, error) {
	spec, err := changestream.Parse(arg)
	if err != nil {
		return nil, err
	}
	scope, err := v.changeScope(db, name, spec)
	if err != nil {
		return nil, err
	}
	parsed, err := sc.ParsePipeline(db, rest, parsing.OverUnknown)
	if err != nil {
		return nil, err
	}
	if !parsed.SplitsLargeEvents() {
		if err := spec.CheckFragment(); err != nil {
			return nil, err
		}
	}
	e := v.Engine
	stream, err := changestream.Open(e.Store, changeDocuments{e, sc.Now}, spec, scope, e.Memory)
	if err != nil {
		return nil, err
	}
	src := &ChangeSource{Source: parsed.Run(stream, &source.Env{Memory: e.Memory}), stream: stream}
	if parsed.SplitsLargeEvents() {
		src.splitter = changestream.NewSplitter(spec)
	}
	return src, nil
}

// StaysOpen reports whether further events are possible.
func (s *ChangeSource) StaysOpen() (bool, error) { return !s.IsDone(context.Background()), nil }

// changeScope returns the scope of a change stream: a collection, a database or the server.
func (v Reads) changeScope(db, name string, spec *changestream.Spec) (changestream.Scope, error) {
	var scope changestream.Scope
	switch {
	case spec.Cluster && (db != "admin" || name != ""):
		return scope, mongoerr.New(mongoerr.InvalidOptions, "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' "+
			"database, and with no collection name; found %s", strings.TrimSuffix(db+"."+name, "."))
	case spec.Cluster:
		return scope, nil
	case catalog.IsInternalDatabase(db):
		return scope, mongoerr.New(mongoerr.InvalidNamespace, "$changeStream may not be opened on the internal %s database", db)
	case strings.HasPrefix(name, "system."):
		return scope, mongoerr.New(mongoerr.InvalidNamespace, "$changeStream may not be opened on the internal %s.%s collection", db, name)
	}
	if c := v.Engine.Store.Lookup(db, name); c != nil && c.Kind != catalog.KindCollection {
		return scope, mongoerr.New(mongoerr.CommandNotSupportedOnView, "$changeStream is not supported on views")
	}
	return changestream.Scope{DB: db, Collection: name}, nil
}

// ChangeSource is the source of a change stream's cursor.
type ChangeSource struct {
	source.Source
	stream *changestream.Stream
	// splitter, if not nil, splits large events. fragments are the remaining fragments of the last
	// event.
	splitter  *changestream.Splitter
	fragments []bsonx.Doc
	// event is the resume token of the last event. last and before are the resume tokens of the
	// last two documents that Next has returned.
	event, last, before bsonx.Doc
}

// Next implements session.Source.
func (s *ChangeSource) Next(ctx context.Context) (bsonx.Doc, error) {
	for len(s.fragments) == 0 {
		doc, err := s.Source.Next(ctx)
		if err != nil || doc == nil {
			return nil, err
		}
		s.event = s.stream.LastToken()
		if id := doc.Lookup("_id"); id.Type != bsonx.TypeDocument || !id.Doc().Equal(s.event) {
			return nil, errTokenChanged(s.event, id)
		}
		whole := true
		if s.splitter != nil {
			if s.fragments, whole, err = s.splitter.Split(doc); err != nil {
				return nil, err
			}
		}
		if !whole {
			continue // the client may already have all fragments of this event
		}
		if err := doc.CheckResult(); err != nil {
			return nil, err
		}
		s.before, s.last = s.last, s.event
		return doc, nil
	}
	doc := s.fragments[0]
	s.fragments = s.fragments[1:]
	s.before, s.last = s.last, doc.Lookup("_id").Doc()
	return doc, nil
}

func errTokenChanged(token bsonx.Doc, id bsonx.Value) error {
	return mongoerr.New(mongoerr.ChangeStreamFatalError, "Encountered an event whose _id field, which contains the resume token, was modified by the "+
		"pipeline. Modifying the _id field of an event makes it impossible to resume the stream from that point. Only transformations that retain the "+
		"unmodified _id field are allowed. Expected: %s but found: %s",
		bsonx.FormatShell(bsonx.Document(bsonx.NewDoc("_id", token))),
		bsonx.FormatShell(bsonx.Document(bsonx.NewDoc("_id", id))))
}

// token implements Resumable.
func (s *ChangeSource) token(stashed bool) bsonx.Doc {
	switch {
	case stashed:
		return s.before
	case len(s.fragments) > 0:
		return s.last
	}
	token := s.stream.BatchToken()
	if token.Equal(s.event) {
		return s.last // s.last may be the token of the event's last fragment
	}
	return token
}

// Kept implements memory.Keeper.
func (s *ChangeSource) Kept() int64 {
	kept := int64(len(s.last) + len(s.before) + len(s.event))
	for _, f := range s.fragments {
		kept += int64(len(f))
	}
	return kept + memory.KeptBy(s.Source)
}

// IsDone implements Ender.
func (s *ChangeSource) IsDone(context.Context) bool { return len(s.fragments) == 0 && s.stream.Ended() }

func (s *ChangeSource) news() <-chan struct{} { return s.stream.Arrival() }

// Rest does nothing: a change stream does not delay its getMores.
func (s *ChangeSource) Rest(context.Context, *session.Op) error { return nil }

// changeDocuments gives change streams access to the documents of the server.
type changeDocuments struct {
	engine *Engine
	now    time.Time
}

// Document implements changestream.Source.
func (d changeDocuments) Document(ctx context.Context, db, collection string, id bsonx.Value) (bsonx.Doc, error) {
	byID, err := filter.Parse(bsonx.NewDoc("_id", bsonx.NewDoc("$eq", id)), filter.FindOptions(nil, d.now))
	if err != nil {
		return nil, err
	}
	q := &query.Query{DB: db, Name: collection, Coll: d.engine.Store.Lookup(db, collection), Filter: byID, Limit: 1}
	if q.Coll == nil || q.Coll.Kind != catalog.KindCollection {
		return nil, nil
	}
	src, err := OpenSource(ctx, d.engine.Newest(), q)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	doc, err := src.Next(ctx)
	return doc.Clone(), err
}

// ImageExpired implements changestream.Source.
func (d changeDocuments) ImageExpired(kept time.Time) bool {
	return d.engine.ImageExpired(kept)
}
