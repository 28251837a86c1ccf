package command

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/write"
)

// call is the working memory of one command; calls are pooled so that idle connections hold none.
type call struct {
	req     Request
	builder bsonx.Builder
	args    [24]bsonx.Elem
	memory  workspace
}

// workspace is what the most frequent commands work with. Nothing of it may be reachable after the command has ended, but by
// a cursor that took it along; see Request.takeFind.
type workspace struct {
	find      *findRun
	used      bool // find is done with, and not yet cleared
	updates   []updateSpec
	scope     scope
	statement write.UpdateStatement
	docs      []bsonx.Doc
	retry     retryState
}

// findRun is what a find works with: what is asked, and the cursor that answers.
type findRun struct {
	query  plan.Query
	source planSource
	cursor session.Cursor
}

// What an idle call holds on to.
const (
	maxKeptUpdates = 8
	maxKeptDocs    = 64
)

type callPool struct{ p sync.Pool }

func (p *callPool) get() *call {
	if c, ok := p.p.Get().(*call); ok {
		return c
	}
	return new(call)
}

func (p *callPool) put(c *call) {
	clear(c.args[:min(len(c.req.args), len(c.args))])
	c.req = Request{}
	c.builder.Reset(nil)
	c.memory.forget()
	p.p.Put(c)
}

// forget lets go of what the memory refers to.
func (m *workspace) forget() {
	m.forgetFind()
	if len(m.updates) > 0 {
		clear(m.updates)
		m.updates = keep(m.updates, maxKeptUpdates)
	}
	if !m.scope.now.IsZero() {
		m.scope, m.statement = scope{}, write.UpdateStatement{}
	}
	if m.retry.write.By.Session != nil {
		m.retry.forget()
	}
	if len(m.docs) > 0 {
		clear(m.docs)
		m.docs = keep(m.docs, maxKeptDocs)
	}
}

// keep returns an empty slice with the memory of s, unless that is large.
func keep[T any](s []T, limit int) []T {
	if cap(s) > limit {
		return nil
	}
	return s[:0]
}

// takeFind returns the memory of a find. It is the caller's: giveFind gives it back, unless a cursor lives on in it.
func (m *workspace) takeFind() *findRun {
	m.forgetFind()
	run := m.find
	if m.find = nil; run == nil {
		run = new(findRun)
	}
	return run
}

func (m *workspace) giveFind(run *findRun) {
	m.find, m.used = run, true // the log of slow operations may ask it yet
}

func (m *workspace) forgetFind() {
	if m.used {
		*m.find, m.used = findRun{}, false
	}
}
