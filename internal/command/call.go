package command

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/write"
)

// call is the memory that one command needs while it runs. Calls are pooled, so an idle connection
// holds no such memory.
type call struct {
	Req     Request
	Builder bsonx.Builder
	Args    [24]bsonx.Elem
	Memory  Workspace
}

// Workspace is memory that the most frequent commands reuse. After a command has ended, nothing may
// refer to its Workspace. A cursor that stays open may keep its FindRun; see TakeFind.
type Workspace struct {
	find      *FindRun
	used      bool // find was given back and must be cleared before its next use
	Updates   []UpdateSpec
	Scope     read.Scope
	Statement write.UpdateStatement
	Docs      []bsonx.Doc
	Retry     retryState
}

// FindRun is the memory of one find: its query, its plan source, and its cursor.
type FindRun struct {
	Query  query.Query
	Source read.PlanSource
	Cursor session.Cursor
}

// The largest slices, in elements, that an idle call keeps for the next command.
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

// forget drops the references to the documents and sessions of the last command.
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

// keep returns an empty slice with the memory of s, or nil if s has a capacity over limit.
func keep[T any](s []T, limit int) []T {
	if cap(s) > limit {
		return nil
	}
	return s[:0]
}

// TakeFind returns cleared memory for a find. Give it back with GiveFind, unless a cursor keeps it.
func (m *Workspace) TakeFind() *FindRun {
	m.forgetFind()
	run := m.find
	if m.find = nil; run == nil {
		run = new(FindRun)
	}
	return run
}

// GiveFind gives back the memory of a find. The next find that uses this Workspace clears it.
func (m *Workspace) GiveFind(run *FindRun) {
	m.find, m.used = run, true // not cleared yet: the slow operation log may still read it
}

func (m *Workspace) forgetFind() {
	if m.used {
		*m.find, m.used = FindRun{}, false
	}
}
