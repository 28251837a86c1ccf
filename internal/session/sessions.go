package session

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The limits of logical sessions.
const (
	// Timeout is how long a session lives after its last use.
	Timeout = 30 * time.Minute
	// sessionBytes is the memory of a session with a transaction number, including its share of the
	// registry.
	sessionBytes = 512
	// memoryShare is the fraction of the requests' memory that sessions may take: one quarter.
	// fewSessions is the number of sessions that is always allowed.
	memoryShare, fewSessions = 4, 10_000
)

// SessionID identifies a logical session: the UUID that the client chose, and the digest of its
// user.
type SessionID struct {
	UUID [16]byte
	User [32]byte
}

// IsZero reports whether the id is empty, which means that there is no session.
func (id SessionID) IsZero() bool { return id == SessionID{} }

// Session is a logical session.
type Session struct {
	ID      SessionID
	begin   time.Time               // when the registry was created
	lastUse atomic.Int64            // milliseconds since begin, or ended
	txns    atomic.Pointer[numbers] // nil before the first transaction number
	doc     atomic.Pointer[bsonx.Doc]
}

// Doc returns the document that identifies the session in the oplog.
func (s *Session) Doc() bsonx.Doc {
	if doc := s.doc.Load(); doc != nil {
		return *doc
	}
	doc := bsonx.NewDoc("id", bsonx.Binary(4, s.ID.UUID[:]), "uid", bsonx.Binary(0, s.ID.User[:]))
	s.doc.Store(&doc)
	return doc
}

// ended is the last use of a session that was removed from the registry. Such a session is never
// reused: its id gets a new Session.
const ended = math.MinInt64

// Touch is Sessions.Use without a lookup. It reports false if the session has ended.
func (s *Session) Touch(now time.Time) bool {
	use := now.Sub(s.begin).Milliseconds()
	for {
		last := s.lastUse.Load()
		if last == ended {
			return false
		}
		if last == use || s.lastUse.CompareAndSwap(last, use) {
			return true
		}
	}
}

const sessionShards = 16

// Sessions is the registry of logical sessions. It is safe for concurrent use.
type Sessions struct {
	clock clock.Clock
	// begin is the time when the registry was created. Ages are measured from there by the
	// monotonic clock, so that setting the computer's clock back and forth ends no session.
	begin  time.Time
	max    int64
	count  atomic.Int64
	shards [sessionShards]sessionShard
	jobs   SessionStats
	jobsMu sync.Mutex
	// The numbers of sessions and cursors that clients ended since the last run of the reaper.
	endedBetween, closedBetween atomic.Int64

	heldMu sync.Mutex
	held   memory.Holding
}

type sessionShard struct {
	mu sync.Mutex
	m  map[SessionID]*Session
	// leaving has the numbers of sessions that ended while an operation had them checked out. A new
	// session with the same id takes them over, so that it waits for that operation.
	leaving map[SessionID]*numbers
}

// end removes a session. The caller holds the lock.
func (sh *sessionShard) end(ses *Session) {
	delete(sh.m, ses.ID)
	if n := ses.txns.Load(); n != nil && n.isHeld() {
		if sh.leaving == nil {
			sh.leaving = make(map[SessionID]*numbers)
		}
		sh.leaving[ses.ID] = n
	}
}

// start adds a session. The caller holds the lock.
func (sh *sessionShard) start(id SessionID, begin time.Time) *Session {
	ses := &Session{ID: id, begin: begin}
	sh.m[id] = ses
	if n := sh.leaving[id]; n != nil {
		delete(sh.leaving, id)
		ses.txns.Store(n)
	}
	return ses
}

// NewSessions returns an empty registry of at most max sessions; 0 stands for limits.Sessions.
func NewSessions(c clock.Clock, max int) *Sessions {
	if max <= 0 {
		max = limits.Sessions
	}
	s := &Sessions{clock: c, begin: c.Now(), max: int64(max)}
	for i := range s.shards {
		s.shards[i].m = make(map[SessionID]*Session)
	}
	return s
}

// LimitMemory counts the sessions in the budget of the requests. A share of the budget limits the
// number of sessions. This limit does not depend on the memory that requests and cursors hold, so a
// new client never fails because of their memory. Call it before the first session is used.
func (s *Sessions) LimitMemory(b *memory.Budget) {
	s.held = b.Hold()
	s.max = min(s.max, max(b.Share(memoryShare, math.MaxInt64)/sessionBytes, fewSessions))
}

// Max returns the maximum number of sessions.
func (s *Sessions) Max() int { return int(s.max) }

// weigh counts the memory of the sessions after their number has changed.
func (s *Sessions) weigh() {
	s.heldMu.Lock()
	defer s.heldMu.Unlock()
	n := s.count.Load() * sessionBytes
	s.held.Force(n)
	if n == 0 {
		s.held.Release()
		return
	}
	s.held.Shrink(n + memory.Step)
}

func (s *Sessions) shard(id *SessionID) *sessionShard {
	return &s.shards[binary.LittleEndian.Uint32(id.UUID[12:])%sessionShards]
}

// Use returns the session with that id and keeps it alive. It creates the session if it is new. now
// is the command's start.
func (s *Sessions) Use(id SessionID, now time.Time) (*Session, error) {
	sh := s.shard(&id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	ses, ok := sh.m[id]
	if !ok {
		if s.count.Load() >= s.max {
			return nil, mongoerr.New(mongoerr.TooManyLogicalSessions,
				"Unable to add session ID to the cache because there are too many sessions already: %d", s.max)
		}
		ses = sh.start(id, s.begin)
		s.count.Add(1)
		s.weigh()
	}
	ses.lastUse.Store(now.Sub(s.begin).Milliseconds())
	return ses, nil
}

// Lookup returns the session of that id, or nil.
func (s *Sessions) Lookup(id SessionID) *Session {
	sh := s.shard(&id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.m[id]
}

// End removes a session. The caller ends its cursors and its transaction.
func (s *Sessions) End(id SessionID) {
	sh := s.shard(&id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if ses, ok := sh.m[id]; ok {
		ses.lastUse.Store(ended)
		sh.end(ses)
		s.count.Add(-1)
		s.weigh()
		s.endedBetween.Add(1)
	}
}

// Len returns the number of sessions.
func (s *Sessions) Len() int { return int(s.count.Load()) }

// All returns the ids of the sessions that match.
func (s *Sessions) All(match func(SessionID) bool) []SessionID {
	var out []SessionID
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for id := range sh.m {
			if match(id) {
				out = append(out, id)
			}
		}
		sh.mu.Unlock()
	}
	return out
}

// LastUse returns when the session was last used, or the zero time if it has ended.
func (s *Session) LastUse() time.Time {
	if last := s.lastUse.Load(); last != ended {
		return s.begin.Add(time.Duration(last) * time.Millisecond)
	}
	return time.Time{}
}

// Reap removes the sessions that were not used for Timeout, and returns their ids.
func (s *Sessions) Reap() []SessionID {
	now := s.clock.Now()
	limit := (now.Sub(s.begin) - Timeout).Milliseconds()
	before := int64(math.MinInt64)
	if last := s.Stats().LastJob; !last.IsZero() {
		before = last.Sub(s.begin).Milliseconds()
	}
	refreshed := 0
	var out []SessionID
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for id, ses := range sh.m {
			if ses.lastUse.Load() > before {
				refreshed++
			}
			if last := ses.lastUse.Load(); last <= limit && ses.lastUse.CompareAndSwap(last, ended) {
				sh.end(ses)
				s.count.Add(-1)
				out = append(out, id)
			}
		}
		for id, n := range sh.leaving {
			if !n.isHeld() {
				delete(sh.leaving, id)
			}
		}
		sh.mu.Unlock()
	}
	s.weigh()
	s.jobsMu.Lock()
	s.jobs.Jobs++
	s.jobs.LastJob = now
	s.jobs.LastTook = s.clock.Now().Sub(now)
	s.jobs.LastRefreshed, s.jobs.LastEnded = refreshed, len(out)+int(s.endedBetween.Swap(0))
	s.jobs.LastCursors = int(s.closedBetween.Swap(0))
	s.jobsMu.Unlock()
	return out
}

// SessionStats are the numbers about the reaper in serverStatus.
type SessionStats struct {
	Jobs    int
	LastJob time.Time
	// LastTook is the duration of the last run. LastRefreshed is the number of sessions used since
	// the run before it. LastEnded is the number of sessions that ended since then, by clients or
	// by the timeout. LastCursors is the number of their cursors.
	LastTook                              time.Duration
	LastRefreshed, LastEnded, LastCursors int
}

// CursorsReaped records how many cursors were closed with the sessions that the last Reap returned.
func (s *Sessions) CursorsReaped(n int) {
	s.jobsMu.Lock()
	s.jobs.LastCursors += n
	s.jobsMu.Unlock()
}

// CursorsClosed records how many cursors were closed with sessions that clients ended. The next run
// of the reaper reports them.
func (s *Sessions) CursorsClosed(n int) { s.closedBetween.Add(int64(n)) }

// Stats describes the reaper's last run.
func (s *Sessions) Stats() SessionStats {
	s.jobsMu.Lock()
	defer s.jobsMu.Unlock()
	return s.jobs
}

// String returns the session's UUID in the form of MongoDB's messages.
func (id SessionID) String() string {
	u := id.UUID
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
