package admin

import (
	"context"
	"crypto/rand"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

// SessionCommands returns the commands that manage logical sessions.
func SessionCommands() []command.Definition {
	array := command.OneOf(bsonx.TypeArray)
	return []command.Definition{
		{
			Name: "startSession", Help: "Starts a logical session.", Run: runStartSession,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "refreshSessions", Help: "Keeps sessions alive.", CommandField: array, Run: runRefreshSessions,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "endSessions", Help: "Ends sessions.", NoAuth: true, CommandField: array, Run: runEndSessions,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "killSessions", ErrorName: "KillSessionsCmd", Help: "Ends sessions and their operations.",
			Loose: true, CommandField: array,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Run: runKillSessions,
		},
		{
			Name: "killAllSessions", ErrorName: "KillAllSessionsCmd", Help: "Ends all sessions, or users' ones.",
			Loose: true, CommandField: array,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Run: runKillAllSessions,
		},
		{
			Name: "killAllSessionsByPattern", ErrorName: "KillAllSessionsByPatternCmd",
			Help: "Ends the sessions that match patterns.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Loose: true, CommandField: array, Run: runKillSessionsByPattern,
		},
	}
}

func runStartSession(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	var id session.SessionID
	if _, err := rand.Read(id.UUID[:]); err != nil {
		return err
	}
	id.UUID[6] = id.UUID[6]&0x0f | 0x40 // UUID version 4
	id.UUID[8] = id.UUID[8]&0x3f | 0x80 // UUID variant of RFC 4122
	id = req.Conn.Own(id)
	if _, err := req.Service.Sessions.Use(id, req.Now); err != nil {
		return err
	}
	reply.StartDocField("id")
	reply.Value("id", bsonx.Binary(bsonx.UUIDSubtype, id.UUID[:]))
	reply.Value("uid", bsonx.Binary(0, id.User[:]))
	reply.End()
	reply.Int32("timeoutMinutes", int32(session.Timeout.Minutes()))
	return nil
}

// listed calls fn with each document of the array in the command's own field. It skips null, as
// MongoDB does. path names the array in errors.
func listed(r *command.Request, path string, fn func(doc bsonx.Doc) error) error {
	docs, err := command.DocsOf(path, r.CommandValue())
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if err := fn(doc); err != nil {
			return err
		}
	}
	return nil
}

// sessionList parses the session ids in the command's own field. path names the field in errors.
func sessionList(req *command.Request, path string) ([]session.SessionID, error) {
	var ids []session.SessionID
	err := listed(req, path, func(doc bsonx.Doc) error {
		id, err := command.ParseSessionID(path, doc)
		ids = append(ids, req.Conn.Own(id))
		return err
	})
	if err == nil && len(ids) > limits.SessionBatch {
		err = mongoerr.New(mongoerr.InvalidOptions, "%s takes at most %d sessions", req.Def.Name, limits.SessionBatch)
	}
	return ids, err
}

func runRefreshSessions(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	ids, err := sessionList(req, "refreshSessions.refreshSessionsFromClient")
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

func runEndSessions(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	ids, err := sessionList(req, "endSessions.endSessionsFromClient")
	if err != nil {
		return err
	}
	for _, id := range ids {
		req.Service.Sessions.End(id)
	}
	req.Service.Sessions.CursorsClosed(req.Service.EndSessions(ids))
	return nil
}

func runKillSessions(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	ids, err := sessionList(req, "KillSessionsCmd.killSessions")
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		killSessionsWhere(req.Service, req, func(id session.SessionID) bool { return id.User == req.Conn.Digest })
		return nil
	}
	set := make(map[session.SessionID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	killSessionsWhere(req.Service, req, func(id session.SessionID) bool { return set[id] })
	return nil
}

// killSessionsWhere ends the matching sessions with their operations, cursors and transactions. It
// does not end the operation that runs the command.
func killSessionsWhere(s *command.Service, req *command.Request, match func(session.SessionID) bool) {
	own := req.Conn.Op.ID()
	s.Ops.KillSession(match, own)
	s.Sessions.CursorsClosed(s.Cursors.KillSession(match))
	s.Transactions.KillSession(match)
	s.Read.Snapshots.EndSessions(match)
	for _, id := range s.Sessions.All(match) {
		s.Sessions.End(id)
	}
}

// userFields are the fields that identify a user in killAllSessions, in the order in which MongoDB
// checks them.
var userFields = []command.Field{
	{Name: "db", Type: command.String, Required: true},
	{Name: "user", Type: command.String, Required: true},
}

func runKillAllSessions(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	const path = "KillAllSessionsCmd.killAllSessions"
	users := make(map[[32]byte]bool)
	err := listed(req, path, func(doc bsonx.Doc) error {
		var names [2]string
		err := command.ParseFields(path, doc, userFields, func(i int, v bsonx.Value) error {
			names[i] = v.Str()
			return nil
		})
		users[command.UserDigest(names[1]+"@"+names[0])] = true
		return err
	})
	if err != nil {
		return err
	}
	killSessionsWhere(req.Service, req, func(id session.SessionID) bool { return len(users) == 0 || users[id.User] })
	return nil
}

func runKillSessionsByPattern(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	const path = "KillAllSessionsByPatternCmd.killAllSessionsByPattern"
	var matchers []func(session.SessionID) bool
	err := listed(req, path, func(doc bsonx.Doc) error {
		m, err := sessionPattern(path, doc)
		matchers = append(matchers, m)
		return err
	})
	if err != nil {
		return err
	}
	killSessionsWhere(req.Service, req, func(id session.SessionID) bool {
		for _, m := range matchers {
			if m(id) {
				return true
			}
		}
		return len(matchers) == 0
	})
	return nil
}

// patternFields are the fields of a pattern in killAllSessionsByPattern. Only lsid and uid select
// sessions. users and roles say on whose behalf the command runs.
var patternFields = []command.Field{
	{Name: "lsid", Type: command.Object, Fields: command.SessionFields},
	{Name: "uid", Type: command.BinData},
	{Name: "users", Type: command.Array, Check: checkDocuments},
	{Name: "roles", Type: command.Array, Check: checkDocuments},
}

// checkDocuments returns an error if an element of an array is not a document.
func checkDocuments(name string, v bsonx.Value) error {
	_, err := command.DocsOf("KillAllSessionsByPatternCmd.killAllSessionsByPattern."+name, v)
	return err
}

func sessionPattern(path string, doc bsonx.Doc) (func(session.SessionID) bool, error) {
	matches := func(session.SessionID) bool { return true }
	err := command.ParseFields(path, doc, patternFields, func(i int, v bsonx.Value) error {
		switch patternFields[i].Name {
		case "lsid":
			id, err := command.ParseSessionID(path+".lsid", v.Doc())
			if err == nil && v.Doc().Lookup("uid").IsMissing() {
				err = command.MissingField(path + ".lsid.uid")
			}
			matches = func(other session.SessionID) bool { return other == id }
			return err
		case "uid":
			var digest [32]byte
			if _, data := v.Binary(); copy(digest[:], data) != len(data) || len(data) != len(digest) {
				return mongoerr.New(mongoerr.UnsupportedFormat, "Unsupported SHA256Block hash length: %d", len(data))
			}
			matches = func(other session.SessionID) bool { return other.User == digest }
		}
		return nil
	})
	return matches, err
}
