package command

import (
	"context"
	"fmt"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	startupLog     = "startup_log"
	startupLogSize = 10 << 20
)

// logStart adds the start of a server to local.startup_log. A program that embeds the database has no such log: what it says
// of itself is not for clients.
func (s *Service) logStart() error {
	if s.Store == nil || len(s.CommandLine.Args) == 0 {
		return nil
	}
	c := s.Store.Lookup("local", startupLog)
	if c == nil {
		var err error
		if c, err = schema.Create(s.Store, "local", startupLog, catalog.KindCollection, bsonx.NewDoc("capped", true, "size", int64(startupLogSize))); err != nil {
			return err
		}
	}
	if c.Kind != catalog.KindCollection {
		return nil
	}
	w, err := s.Store.BeginWrite(c)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Insert(context.Background(), s.startDoc()); err != nil {
		return err
	}
	return w.Commit(storage.Buffered)
}

// startDoc describes the start as MongoDB does.
func (s *Service) startDoc() bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("_id", fmt.Sprintf("%s-%d", s.Hostname, s.Started.UnixMilli()))
	b.String("hostname", s.Hostname)
	b.Date("startTime", s.Started.UnixMilli())
	b.String("startTimeLocal", s.Started.Local().Format(time.StampMilli))
	if s.CommandLine.Parsed == nil {
		b.Doc("cmdLine", bsonx.Empty)
	} else {
		b.Doc("cmdLine", s.CommandLine.Parsed)
	}
	b.Int64("pid", int64(s.Pid))
	b.StartDocField("buildinfo")
	AppendBuild(b, s.Build)
	b.End()
	b.End()
	return b.Bytes()
}
