package dispatch

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/wire"
)

// Result tells a connection what to do after a command.
type Result struct {
	// Out is the buffer with the reply appended. No reply is appended if the client wants none.
	Out []byte
	// Close tells the connection to close after it has sent the reply.
	Close bool
	// Next, if not nil, is the next command of an exhaust stream. The connection runs it without
	// reading a request.
	Next bsonx.Doc
	// Retained is true if the request's buffer must not be reused.
	Retained bool
}

// Handle runs the command of a message and appends its reply to out.
func Handle(ctx context.Context, s *command.Service, conn *command.Conn, msg *wire.Message, out []byte) Result {
	c := s.Stats.Calls.Get()
	defer s.Stats.Calls.Put(c)
	req := &c.Req // empty: Put has cleared it
	req.Service, req.Conn, req.Op, req.Now = s, conn, &conn.Op, s.Clock.Now()
	req.Body, req.Sequences, req.RawArgs, req.Memory = msg.Body, msg.Sequences, c.Args[:0], &c.Memory
	req.Ending = msg.Ending
	req.Reply.ExhaustAllowed = msg.Flags&(wire.FlagExhaustAllowed|wire.FlagMoreToCome) == wire.FlagExhaustAllowed

	w := beginReply(&c.Builder, conn, msg, out)
	req.Reply.Start = w.body
	e, err := resolve(s, req, msg)
	var fp failpoint.Failure
	if err == nil {
		conn.Op.Begin(ctx, conn.Ids.Take(s.Ops), req.Now)
		if fp, err = matchFailPoint(s, req); err == nil {
			err = execute(s, e, req, &c.Builder)
		} else {
			req.Begin(e)
		}
		err = conn.Op.Cause(err)
	}
	if err != nil && e != nil {
		err = withLabels(req, err)
		if req.Begun {
			e.Failures.Add(1)
		}
	}
	res := finishReply(s, w, req, msg, err, fp)
	if e != nil {
		conn.Op.Debug.ResponseLength = len(res.Out) - w.start
		afterRun(s, e, req, err)
		conn.Op.Finish()
	}
	return res
}

// resolve finds the definition of the command and sets the request's name and database.
func resolve(s *command.Service, req *command.Request, msg *wire.Message) (*command.Entry, error) {
	first := req.Body.First()
	if req.Value = first.Value; first.Key == nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "no command in the message")
	}
	if err := setDatabase(s, req, msg); err != nil {
		return nil, err
	}
	e, ok := req.Conn.LastCommand, true
	if e == nil || e.Name != string(first.Key) {
		e, ok = s.Commands.ByName[string(first.Key)]
		req.Conn.LastCommand = e
	}
	if !ok || e.Status == feature.Absent || e.TestOnly && !s.TestCommands {
		s.Stats.UnknownCommands.Add(1)
		return nil, mongoerr.New(mongoerr.CommandNotFound, "no such command: '%s'", first.Key)
	}
	req.Def, req.Name = e.Definition, e.Name
	if len(first.Key) != len(e.Name) || string(first.Key) != e.Name {
		req.Name = string(first.Key)
	}
	if msg.Legacy && !e.Handshake {
		s.CountLegacy(wire.OpQuery)
		return nil, mongoerr.New(mongoerr.UnsupportedOpQueryCommand,
			"Unsupported OP_QUERY command: %s. The client driver may require an upgrade. For more details see "+
				"https://dochub.mongodb.org/core/legacy-opcode-removal", req.Name)
	}
	return e, nil
}

func setDatabase(s *command.Service, req *command.Request, msg *wire.Message) error {
	switch {
	case req.Ending > 0:
		req.DB = req.Conn.Last.DB
		return nil
	case msg.Legacy:
		var err error
		req.DB, err = req.Conn.Database([]byte(strings.TrimSuffix(msg.Namespace, ".$cmd")))
		return err
	default:
		return readDatabase(req)
	}
}

// readDatabase sets the request's database from the argument $db.
func readDatabase(r *command.Request) error {
	v := r.Body.Lookup("$db")
	switch {
	case v.IsMissing():
		return mongoerr.New(codeMissingDB, "OP_MSG requests require a $db argument")
	case v.Type != bsonx.TypeString:
		return command.WrongType("$db", v.Type, command.String)
	}
	var err error
	r.DB, err = r.Conn.Database(v.StrBytes())
	return err
}

const codeMissingDB = mongoerr.Code(40571)

// execute parses the request, prepares its session, snapshot and concerns, and runs the command.
func execute(s *command.Service, e *command.Entry, req *command.Request, reply *bsonx.Builder) (err error) {
	defer func() {
		if p := recover(); p != nil {
			req.Begin(e)
			err = panicked(s, req, p)
		}
	}()
	if err := Parse(s, e, req); err != nil {
		if errors.Is(err, command.ErrHelp) {
			reply.String("help", "help for: "+e.Name+" "+e.Help)
			return nil
		}
		return err
	}
	if req.Generic.HasSession {
		req.Generic.SessionID = req.Conn.Own(req.Generic.SessionID)
	}
	op := &req.Conn.Op
	op.SetInfo(func(info *session.OpInfo) { opInfo(e, req, info) })
	if ms := timeLimit(s, e, req); ms > 0 {
		counts, err := s.FailPoints.TimeLimit()
		if err != nil {
			return err
		}
		if counts {
			op.LimitTime(s.Clock, time.Duration(ms)*time.Millisecond)
		}
	}
	if e.Status == feature.Known {
		return mongoerr.New(mongoerr.NotImplemented, "Command %s is not implemented by Sheaf yet", e.Name)
	}
	if req.Generic.HasSession {
		if req.Session, err = sessionOf(s, req); err != nil {
			return err
		}
	}
	if t := max(req.Generic.ReadConcern.AfterClusterTime, req.Generic.ReadConcern.AtClusterTime); t != 0 {
		if err := awaitClusterTime(op, s, t); err != nil {
			return err
		}
	}
	if readsSnapshot(req) {
		if err := holdSnapshot(s, req); err != nil {
			return err
		}
		defer s.Read.Snapshots.Done(req.Snapshot)
	}
	applyDefaults(s, e.Definition, &req.Generic)
	s.Stats.ReadConcerns.Count(e.Definition, &req.Generic)
	if mayWrite(req) {
		if err := enterWrites(s, req); err != nil {
			return err
		}
		defer s.Gate.Leave()
	}
	if !e.Parses {
		req.Begin(e)
	}
	if req.Generic.HasTxnNumber {
		err = runNumbered(s, e, req, reply)
	} else {
		err = run(op, e, req, reply)
	}
	if !req.Misformed {
		req.Begin(e)
	}
	if synced := syncWrites(req); err == nil {
		err = synced
	}
	if wc := &req.Generic.WriteConcern; wc.Given && s.Replicates() && req.Reply.WriteConcernError == nil {
		req.Reply.WriteConcernError = wc.Unmet()
	}
	return err
}

// sessionOf returns the session of a request. It avoids a look-up if the connection's last command
// had the same session.
func sessionOf(s *command.Service, req *command.Request) (*session.Session, error) {
	conn := req.Conn
	if last := conn.LastSession; last != nil && last.ID == req.Generic.SessionID && last.Touch(req.Now) {
		return last, nil
	}
	var err error
	conn.LastSession, err = s.Sessions.Use(req.Generic.SessionID, req.Now)
	return conn.LastSession, err
}

func panicked(s *command.Service, req *command.Request, p any) error {
	s.Stats.Panics.Add(1)
	s.Logger.Error("Unhandled panic in a command", "command", req.Name, "connection", req.Conn.ID, "panic", p,
		"stack", string(debug.Stack()))
	return mongoerr.New(mongoerr.InternalError, "internal error in command %s; the server's log has the details", req.Name)
}

// opInfo sets the fields that currentOp shows of a request. info must be empty.
func opInfo(e *command.Entry, req *command.Request, info *session.OpInfo) {
	info.Kind, info.Command, info.Writes = e.Kind, req.Body, e.Writes == feature.Yes
	info.EndsWithClient, info.Spared = endsWithClient(req, e), e.Expendable == feature.No
	info.DB, info.Collection = req.Target()
	if e.Kind == "" {
		info.Kind = "command"
	}
	if e.Secret != feature.No {
		info.Command = nil
	}
	if req.Generic.HasSession {
		info.SessionID = req.Generic.SessionID
	}
}

// endsWithClient reports whether the command is interrupted when its client disconnects. Writes are
// completed.
func endsWithClient(r *command.Request, e *command.Entry) bool {
	return e.Read && !mayWrite(r)
}

// Parse checks all fields of the request and sets its arguments.
func Parse(s *command.Service, e *command.Entry, req *command.Request) error {
	if e.AdminOnly == feature.Yes && req.DB != "admin" {
		return mongoerr.New(mongoerr.Unauthorized, "%s may only be run against the admin database.", e.Name)
	}
	body := req.Body
	var seen, seenGeneric uint64
	if req.Ending > 0 {
		body = body[:req.Ending+1]
		req.Generic, seenGeneric = req.Conn.Last.Generic, req.Conn.Last.Seen
	}
	it := body.Iter()
	it.Next()
	if v := it.Value(); !e.CommandField.Accepts(v.Type) {
		path := cmp.Or(e.ErrorName, e.Name) + "." + e.Name
		if command.IsAbsent(v) {
			return command.MissingField(path)
		}
		return command.WrongType(path, v.Type, e.CommandField)
	}
	generics := 0  // offset of the first generic argument
	mixed := false // a command argument follows a generic one
	for it.Next() {
		if i := e.Field(it.Key()); i >= 0 {
			mixed = generics > 0
			if err := addField(req, e, i, it.Elem(), &seen); err != nil {
				return err
			}
			continue
		}
		i := command.FindGeneric(it.Key())
		if i < 0 {
			if e.Loose {
				mixed = generics > 0
				req.RawArgs = append(req.RawArgs, it.Elem())
				continue
			}
			return command.UnknownField(e.Name + "." + string(it.Key()))
		}
		if generics == 0 {
			generics = it.Start()
		}
		if seenGeneric&(1<<i) != 0 {
			if req.Ending > 0 {
				return parseAlone(s, e, req)
			}
			return command.DuplicateField(e.Name + "." + string(it.Key()))
		}
		seenGeneric |= 1 << i
		if err := setGeneric(req, &command.GenericTable[i], it.Value()); err != nil {
			return err
		}
	}
	if req.Ending == 0 && !mixed {
		req.Conn.Last.Learn(req, generics, seenGeneric)
	}
	return finishParse(req, e, seen)
}

// parseAlone parses a request again, without the reused arguments of its ending. It is called if an
// argument occurs both before and in the ending, so that the error is about the first occurrence.
func parseAlone(s *command.Service, e *command.Entry, req *command.Request) error {
	req.Ending, req.RawArgs, req.Generic = 0, req.RawArgs[:0], command.Generic{}
	if err := readDatabase(req); err != nil {
		return err
	}
	return Parse(s, e, req)
}

func addField(r *command.Request, e *command.Entry, i int, elem bsonx.Elem, seen *uint64) error {
	f := &e.Fields[i]
	if *seen&(1<<i) != 0 {
		return command.DuplicateField(e.Name + "." + f.Name)
	}
	*seen |= 1 << i
	present, err := command.CheckField(e.Name, f, elem.Value)
	if err != nil {
		return err
	}
	if present {
		r.RawArgs = append(r.RawArgs, elem)
	} else {
		*seen &^= 1 << i
	}
	return nil
}

func setGeneric(r *command.Request, f *command.GenericField, v bsonx.Value) error {
	if !f.Typ.Accepts(v.Type) {
		if v.Type == bsonx.TypeNull || v.Type == bsonx.TypeUndefined {
			return nil
		}
		return command.WrongType(r.Def.Name+"."+f.Name, v.Type, f.Typ)
	}
	if f.Set == nil {
		return nil
	}
	return f.Set(&r.Generic, r.Def.Name, v)
}

func finishParse(r *command.Request, e *command.Entry, seen uint64) error {
	for i := range r.Sequences {
		j := e.Field([]byte(r.Sequences[i].ID))
		if j < 0 || !e.Fields[j].Sequence {
			if e.Loose {
				continue
			}
			return command.UnknownField(e.Name + "." + r.Sequences[i].ID)
		}
		seen |= 1 << j
	}
	if missing := e.Required &^ seen; missing != 0 {
		for i := range e.Fields {
			if missing&(1<<i) != 0 {
				return command.MissingField(e.Name + "." + e.Fields[i].Name)
			}
		}
	}
	if r.Generic.APIStrict == command.BoolTrue {
		for i := range e.Fields {
			if seen&(1<<i) != 0 {
				if err := command.CheckStrictField(&e.Fields[i], &r.Generic); err != nil {
					return err
				}
			}
		}
	}
	if err := learnTime(r.Service, r); err != nil {
		return err
	}
	if err := checkRequiredAPI(r.Service, &r.Generic); err != nil {
		return err
	}
	if err := checkTransaction(r, e.Definition); err != nil {
		return err
	}
	return checkGeneric(r.Service, e.Definition, &r.Generic)
}

// timeLimit returns the time limit of a command in milliseconds; 0 means no limit. The command's
// maxTimeMS, even 0, takes precedence over the default for reads.
func timeLimit(s *command.Service, e *command.Entry, req *command.Request) int64 {
	switch {
	case e.OwnMaxTime:
		return 0
	case req.Generic.HasMaxTime || !e.TimedRead || mayWrite(req):
		return req.Generic.MaxTimeMillis
	}
	return s.ReadLimit.Load().Millis
}

// enterWrites waits until the request may write. A transaction waits at most
// maxTransactionLockRequestTimeoutMillis, because it holds its locks meanwhile. A negative value
// means no limit.
func enterWrites(s *command.Service, req *command.Request) error {
	limit := s.Switches.LockMillis.Load()
	if !req.Generic.InTransaction() || limit < 0 || !s.Gate.Locked() {
		return s.Gate.Enter(req.Op, req.Op.SetWaiting)
	}
	ctx, cancel := clock.WithTimeout(req.Op, s.Clock, time.Duration(limit)*time.Millisecond)
	defer cancel()
	err := s.Gate.Enter(ctx, req.Op.SetWaiting)
	if errors.Is(err, context.DeadlineExceeded) && req.Op.Err() == nil {
		return mongoerr.New(mongoerr.LockTimeout,
			"Unable to acquire IX lock on '{%s: Global}' within %dms.", req.DB, limit)
	}
	return err
}
