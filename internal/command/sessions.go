package command

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

const codeTooManySessions = mongoerr.Code(72)

// sessionCommands returns the commands that manage logical sessions.
func sessionCommands() []Definition {
	array := OneOf(bsonx.TypeArray)
	return []Definition{
		{Name: "startSession", Help: "Starts a logical session.", Run: runStartSession},
		{Name: "refreshSessions", Help: "Keeps sessions alive.", API1: true, CommandField: array, Run: runRefreshSessions},
		{Name: "endSessions", Help: "Ends sessions.", API1: true, NoAuth: true, CommandField: array, Run: runEndSessions},
		{Name: "killSessions", Help: "Ends sessions and their operations.", CommandField: array, Run: runKillSessions},
		{Name: "killAllSessions", Help: "Ends all sessions, or users' ones.", CommandField: array, Run: runKillAllSessions},
		{
			Name: "killAllSessionsByPattern", Help: "Ends the sessions that match patterns.", CommandField: array,
			Run: runKillSessionsByPattern,
		},
	}
}

// userDigest is what identifies a user within a session id: the SHA-256 of its name, of "" without one.
func userDigest(user string) [32]byte { return sha256.Sum256([]byte(user)) }

// own completes an id that a client sent with its user, so that users never share sessions.
func (c *Conn) own(id session.SessionID) session.SessionID {
	if id.User == ([32]byte{}) {
		id.User = c.digest
	}
	return id
}

func runStartSession(_ context.Context, req *Request, reply *bsonx.Builder) error {
	var id session.SessionID
	if _, err := rand.Read(id.UUID[:]); err != nil {
		return err
	}
	id.UUID[6] = id.UUID[6]&0x0f | 0x40 // version 4
	id.UUID[8] = id.UUID[8]&0x3f | 0x80 // RFC 4122
	id = req.Conn.own(id)
	if _, err := req.Service.Sessions.Use(id, req.Now); err != nil {
		return err
	}
	reply.StartDocField("id")
	reply.Value("id", bsonx.Binary(uuidSubtype, id.UUID[:]))
	reply.Value("uid", bsonx.Binary(0, id.User[:]))
	reply.End()
	reply.Int32("timeoutMinutes", int32(session.Timeout.Minutes()))
	return nil
}

// sessionList parses the array of ids that is the command's own field.
func sessionList(req *Request) ([]session.SessionID, error) {
	var ids []session.SessionID
	for i, v := range req.CommandValue().Doc().Values() {
		path := req.Def.Name + "." + req.Def.Name + "." + bsonx.IndexKey(i)
		if v.Type != bsonx.TypeDocument {
			return nil, WrongType(path, v.Type, Object)
		}
		id, err := parseSessionID(path, v.Doc())
		if err != nil {
			return nil, err
		}
		ids = append(ids, req.Conn.own(id))
	}
	if len(ids) > session.MaxBatch {
		return nil, mongoerr.New(codeTooManySessions, "%s takes at most %d sessions", req.Def.Name, session.MaxBatch)
	}
	return ids, nil
}

func runRefreshSessions(_ context.Context, req *Request, _ *bsonx.Builder) error {
	ids, err := sessionList(req)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := req.Service.Sessions.Use(id, req.Now); err != nil {
			return err
		}
	}
	return nil
}

func runEndSessions(_ context.Context, req *Request, _ *bsonx.Builder) error {
	ids, err := sessionList(req)
	if err != nil {
		return err
	}
	for _, id := range ids {
		req.Service.Sessions.End(id)
	}
	req.Service.Sessions.CursorsClosed(req.Service.endSessions(ids))
	return nil
}

func runKillSessions(_ context.Context, req *Request, _ *bsonx.Builder) error {
	ids, err := sessionList(req)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		req.Service.killSessionsWhere(req, func(id session.SessionID) bool { return id.User == req.Conn.digest })
		return nil
	}
	set := make(map[session.SessionID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	req.Service.killSessionsWhere(req, func(id session.SessionID) bool { return set[id] })
	return nil
}

// killSessionsWhere ends sessions with their operations, except the one that asks, and their cursors.
func (s *Service) killSessionsWhere(req *Request, match func(session.SessionID) bool) {
	own := req.Conn.Op.ID()
	s.Ops.KillSession(match, own)
	s.Sessions.CursorsClosed(s.Cursors.KillSession(match))
	s.Transactions.KillSession(match)
	s.snapshots.endSessions(match)
	for _, id := range s.Sessions.All(match) {
		s.Sessions.End(id)
	}
}

func runKillAllSessions(_ context.Context, req *Request, _ *bsonx.Builder) error {
	users := make(map[[32]byte]bool)
	for i, v := range req.CommandValue().Doc().Values() {
		if v.Type != bsonx.TypeDocument {
			return WrongType("killAllSessions.killAllSessions."+bsonx.IndexKey(i), v.Type, Object)
		}
		user, db := v.Doc().Lookup("user"), v.Doc().Lookup("db")
		if user.Type != bsonx.TypeString || db.Type != bsonx.TypeString {
			return MissingField("KillAllSessionsUser.user")
		}
		users[userDigest(user.Str()+"@"+db.Str())] = true
	}
	req.Service.killSessionsWhere(req, func(id session.SessionID) bool { return len(users) == 0 || users[id.User] })
	return nil
}

func runKillSessionsByPattern(_ context.Context, req *Request, _ *bsonx.Builder) error {
	values := req.CommandValue().Doc().Values()
	var matchers []func(session.SessionID) bool
	for i, v := range values {
		if v.Type != bsonx.TypeDocument {
			return WrongType("killAllSessionsByPattern.killAllSessionsByPattern."+bsonx.IndexKey(i), v.Type, Object)
		}
		m, err := sessionPattern(req, v.Doc())
		if err != nil {
			return err
		}
		matchers = append(matchers, m)
	}
	req.Service.killSessionsWhere(req, func(id session.SessionID) bool {
		for _, m := range matchers {
			if m(id) {
				return true
			}
		}
		return len(matchers) == 0
	})
	return nil
}

func sessionPattern(req *Request, doc bsonx.Doc) (func(session.SessionID) bool, error) {
	if lsid := doc.Lookup("lsid"); lsid.Type == bsonx.TypeDocument {
		id, err := parseSessionID("KillAllSessionsByPattern.lsid", lsid.Doc())
		if err != nil {
			return nil, err
		}
		id = req.Conn.own(id)
		return func(other session.SessionID) bool { return other == id }, nil
	}
	if uid := doc.Lookup("uid"); uid.Type == bsonx.TypeBinary {
		_, data := uid.Binary()
		digest := string(data)
		return func(other session.SessionID) bool { return string(other.User[:]) == digest }, nil
	}
	return func(session.SessionID) bool { return true }, nil
}
