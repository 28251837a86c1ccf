package command

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/write"
)

// call is the working memory of one command; calls are pooled so that idle connections hold none.
type call struct {
	Req     Request
	Builder bsonx.Builder
	Args    [24]bsonx.Elem
	Memory  Workspace
}

// Workspace is what the most frequent commands work with. Nothing of it may be reachable after the
// command has ended, but by a cursor that took it along; see TakeFind.
type Workspace struct {
	find      *FindRun
	used      bool // find is done with, and not yet cleared
	Updates   []UpdateSpec
	Scope     read.Scope
	Statement write.UpdateStatement
	Docs      []bsonx.Doc
	Retry     retryState
}

// FindRun is what a find works with: what is asked, and the cursor that answers.
type FindRun struct {
	Query  query.Query
	Source read.PlanSource
	Cursor session.Cursor
}

// What an idle call holds on to.
const (
	maxKeptUpdates = 8
	maxKeptDocs    = 64
)

type callPool struct{ p sync.Pool }

func (p *callPool) Get() *call {
	if c, ok := p.p.Get().(*call); ok {
		return c
	}
	return new(call)
}

func (p *callPool) Put(c *call) {
	clear(c.Args[:min(len(c.Req.RawArgs), len(c.Args))])
	c.Req = Request{}
	c.Builder.Reset(nil)
	c.Memory.forget()
	p.p.Put(c)
}

// forget lets go of what the memory refers to.
func (m *Workspace) forget() {
	m.forgetFind()
	if len(m.Updates) > 0 {
		clear(m.Updates)
		m.Updates = keep(m.Updates, maxKeptUpdates)
	}
	if !m.Scope.Now.IsZero() {
		m.Scope, m.Statement = read.Scope{}, write.UpdateStatement{}
	}
	if m.Retry.Write.By.Session != nil {
		m.Retry.forget()
	}
	if len(m.Docs) > 0 {
		clear(m.Docs)
		m.Docs = keep(m.Docs, maxKeptDocs)
	}
}

// keep returns an empty slice with the memory of s, unless that is large.
func keep[T any](s []T, limit int) []T {
	if cap(s) > limit {
		return nil
	}
	return s[:0]
}

// TakeFind returns the memory of a find. Give it back with GiveFind, unless a cursor keeps it.
func (m *Workspace) TakeFind() *FindRun {
	m.forgetFind()
	run := m.find
	if m.find = nil; run == nil {
		run = new(FindRun)
	}
	return run
}

// GiveFind gives the memory of a find back. The next find of the connection clears it.
func (m *Workspace) GiveFind(run *FindRun) {
	m.find, m.used = run, true // the log of slow operations may ask it yet
}

func (m *Workspace) forgetFind() {
	if m.used {
		*m.find, m.used = FindRun{}, false
	}
}
