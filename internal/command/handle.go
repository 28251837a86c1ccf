package command

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/wire"
)

// Result is what a connection does after a command.
type Result struct {
	// Out is the buffer with the reply appended; nothing is appended where the client wants none.
	Out []byte
	// Close ends the connection after the reply was sent.
	Close bool
	// Next, where set, is the body that the connection runs next without reading a request: an exhaust stream.
	Next bsonx.Doc
	// Retained reports that the request's buffer must not be used again.
	Retained bool
}

// Handle runs the command of a message and appends its reply to out.
func (s *Service) Handle(ctx context.Context, conn *Conn, msg *wire.Message, out []byte) Result {
	c := s.Stats.calls.get()
	defer s.Stats.calls.put(c)
	req := &c.req // empty: put has cleared it
	req.Service, req.Conn, req.Op, req.Now = s, conn, &conn.Op, s.Clock.Now()
	req.Body, req.Sequences, req.RawArgs, req.Memory = msg.Body, msg.Sequences, c.args[:0], &c.memory
	req.ending = msg.Ending
	req.Reply.exhaustAllowed = msg.Flags&(wire.FlagExhaustAllowed|wire.FlagMoreToCome) == wire.FlagExhaustAllowed

	w := beginReply(&c.builder, conn, msg, out)
	req.Reply.start = w.body
	e, err := s.resolve(req, msg)
	var fp failpoint.Failure
	if err == nil {
		conn.Op.Begin(ctx, conn.ids.take(s.Ops), req.Now)
		if fp, err = s.matchFailPoint(req); err == nil {
			err = s.execute(e, req, &c.builder)
		} else {
			req.begin(e)
		}
		err = conn.Op.Cause(err)
	}
	if err != nil && e != nil {
		err = withLabels(req, err)
		if req.begun {
			e.Failures.Add(1)
		}
	}
	res := s.finishReply(w, req, msg, err, fp)
	if e != nil {
		conn.Op.Debug.ResponseLength = len(res.Out) - w.start
		s.afterRun(e, req, err)
		conn.Op.Finish()
	}
	return res
}

// resolve finds the command and sets the request's name and database.
func (s *Service) resolve(req *Request, msg *wire.Message) (*entry, error) {
	first := req.Body.First()
	if req.Value = first.Value; first.Key == nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "no command in the message")
	}
	if err := s.setDatabase(req, msg); err != nil {
		return nil, err
	}
	e, ok := req.Conn.lastCommand, true
	if e == nil || e.Name != string(first.Key) {
		e, ok = s.Commands.ByName[string(first.Key)]
		req.Conn.lastCommand = e
	}
	if !ok || e.Status == Absent || e.TestOnly && !s.TestCommands {
		s.Stats.UnknownCommands.Add(1)
		return nil, mongoerr.New(mongoerr.CommandNotFound, "no such command: '%s'", first.Key)
	}
	req.Def, req.Name = e.Definition, e.Name
	if len(first.Key) != len(e.Name) || string(first.Key) != e.Name {
		req.Name = string(first.Key)
	}
	if msg.Legacy && !isHello(e.Definition) {
		s.CountLegacy(wire.OpQuery)
		return nil, mongoerr.New(mongoerr.UnsupportedOpQueryCommand,
			"Unsupported OP_QUERY command: %s. The client driver may require an upgrade. For more details see "+
				"https://dochub.mongodb.org/core/legacy-opcode-removal", req.Name)
	}
	return e, nil
}

func (s *Service) setDatabase(req *Request, msg *wire.Message) error {
	switch {
	case req.ending > 0:
		req.DB = req.Conn.ending.db
		return nil
	case msg.Legacy:
		var err error
		req.DB, err = req.Conn.database([]byte(strings.TrimSuffix(msg.Namespace, ".$cmd")))
		return err
	default:
		return req.readDatabase()
	}
}

// readDatabase reads the argument $db.
func (r *Request) readDatabase() error {
	v := r.Body.Lookup("$db")
	switch {
	case v.IsMissing():
		return mongoerr.New(codeMissingDB, "OP_MSG requests require a $db argument")
	case v.Type != bsonx.TypeString:
		return WrongType("$db", v.Type, String)
	}
	var err error
	r.DB, err = r.Conn.database(v.StrBytes())
	return err
}

const codeMissingDB = mongoerr.Code(40571)

// execute checks the request's fields and runs the command.
func (s *Service) execute(e *entry, req *Request, reply *bsonx.Builder) (err error) {
	defer func() {
		if p := recover(); p != nil {
			req.begin(e)
			err = s.panicked(req, p)
		}
	}()
	if err := s.Parse(e, req); err != nil {
		if errors.Is(err, errHelp) {
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
	if ms := s.timeLimit(e, req); ms > 0 {
		counts, err := s.FailPoints.TimeLimit()
		if err != nil {
			return err
		}
		if counts {
			op.LimitTime(time.Duration(ms) * time.Millisecond)
		}
	}
	if e.Status == Known {
		return mongoerr.New(mongoerr.NotImplemented, "Command %s is not implemented by Sheaf yet", e.Name)
	}
	if req.Generic.HasSession {
		if req.Session, err = s.session(req); err != nil {
			return err
		}
	}
	if t := max(req.Generic.ReadConcern.AfterClusterTime, req.Generic.ReadConcern.AtClusterTime); t != 0 {
		if err := s.awaitTime(op, t); err != nil {
			return err
		}
	}
	if req.readsSnapshot() {
		if err := s.holdSnapshot(req); err != nil {
			return err
		}
		defer s.Read.Snapshots.Done(req.Snapshot)
	}
	s.applyDefaults(e.Definition, &req.Generic)
	s.Stats.readConcerns.count(e.Definition, &req.Generic)
	if req.mayWrite() {
		if err := s.enterWrites(req); err != nil {
			return err
		}
		defer s.Gate.leave()
	}
	if !e.Parses {
		req.begin(e)
	}
	if req.Generic.HasTxnNumber {
		err = s.runNumbered(e, req, reply)
	} else {
		err = e.run(op, req, reply)
	}
	if !req.misformed {
		req.begin(e)
	}
	if synced := req.sync(); err == nil {
		err = synced
	}
	if wc := &req.Generic.WriteConcern; wc.Given && s.Replicates() && req.Reply.writeConcernError == nil {
		req.Reply.writeConcernError = wc.unmet()
	}
	return err
}

// session returns the session of a request. A connection has mostly the same one as before.
func (s *Service) session(req *Request) (*session.Session, error) {
	conn := req.Conn
	if last := conn.lastSession; last != nil && last.ID == req.Generic.SessionID && last.Touch(req.Now) {
		return last, nil
	}
	var err error
	conn.lastSession, err = s.Sessions.Use(req.Generic.SessionID, req.Now)
	return conn.lastSession, err
}

func (s *Service) panicked(req *Request, p any) error {
	s.Stats.Panics.Add(1)
	s.Logger.Error("Unhandled panic in a command", "command", req.Name, "connection", req.Conn.ID, "panic", p,
		"stack", string(debug.Stack()))
	return mongoerr.New(mongoerr.InternalError, "internal error in command %s; the server's log has the details", req.Name)
}

// opInfo fills in what currentOp shows of a request; info is empty.
func opInfo(e *entry, req *Request, info *session.OpInfo) {
	info.Kind, info.Command, info.Writes = e.Kind, req.Body, e.Write
	info.EndsWithClient = req.endsWithClient(e)
	info.DB, info.Collection = req.target()
	if e.Kind == "" {
		info.Kind = "command"
	}
	if e.Secret {
		info.Command = nil
	}
	if req.Generic.HasSession {
		info.SessionID = req.Generic.SessionID
	}
}

// endsWithClient reports whether nobody needs the command once its client is gone. What writes is done to its end.
func (r *Request) endsWithClient(e *entry) bool {
	return e.Kind == "getmore" || e.Read && !r.mayWrite()
}

// Parse checks every field of the request once.
func (s *Service) Parse(e *entry, req *Request) error {
	if e.AdminOnly && req.DB != "admin" {
		return mongoerr.New(mongoerr.Unauthorized, "%s may only be run against the admin database.", e.Name)
	}
	body := req.Body
	var seen, seenGeneric uint64
	if req.ending > 0 {
		body = body[:req.ending+1]
		req.Generic, seenGeneric = req.Conn.ending.generic, req.Conn.ending.seen
	}
	it := body.Iter()
	it.Next()
	if v := it.Value(); !e.CommandField.Accepts(v.Type) {
		path := cmp.Or(e.ErrorName, e.Name) + "." + e.Name
		if IsAbsent(v) {
			return MissingField(path)
		}
		return WrongType(path, v.Type, e.CommandField)
	}
	generics := 0  // where the generic arguments begin
	mixed := false // other arguments follow them
	for it.Next() {
		if i := e.field(it.Key()); i >= 0 {
			mixed = generics > 0
			if err := req.addField(e, i, it.Elem(), &seen); err != nil {
				return err
			}
			continue
		}
		i := FindGeneric(it.Key())
		if i < 0 {
			if e.Loose {
				mixed = generics > 0
				req.RawArgs = append(req.RawArgs, it.Elem())
				continue
			}
			return UnknownField(e.Name + "." + string(it.Key()))
		}
		if generics == 0 {
			generics = it.Start()
		}
		if seenGeneric&(1<<i) != 0 {
			if req.ending > 0 {
				return s.parseAlone(e, req)
			}
			return DuplicateField(e.Name + "." + string(it.Key()))
		}
		seenGeneric |= 1 << i
		if err := req.setGeneric(&genericTable[i], it.Value()); err != nil {
			return err
		}
	}
	if req.ending == 0 && !mixed {
		req.Conn.ending.learn(req, generics, seenGeneric)
	}
	return req.finishParse(e, seen)
}

// parseAlone parses a request anew without what is known of its ending, one of whose arguments
// stands before it, too: what is wrong with the first one is said first.
func (s *Service) parseAlone(e *entry, req *Request) error {
	req.ending, req.RawArgs, req.Generic = 0, req.RawArgs[:0], Generic{}
	if err := req.readDatabase(); err != nil {
		return err
	}
	return s.Parse(e, req)
}

func (r *Request) addField(e *entry, i int, elem bsonx.Elem, seen *uint64) error {
	f := &e.Fields[i]
	if *seen&(1<<i) != 0 {
		return DuplicateField(e.Name + "." + f.Name)
	}
	*seen |= 1 << i
	present, err := CheckField(e.Name, f, elem.Value)
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

func (r *Request) setGeneric(f *genericField, v bsonx.Value) error {
	if !f.typ.Accepts(v.Type) {
		if v.Type == bsonx.TypeNull || v.Type == bsonx.TypeUndefined {
			return nil
		}
		return WrongType(r.Def.Name+"."+f.name, v.Type, f.typ)
	}
	if f.set == nil {
		return nil
	}
	return f.set(&r.Generic, r.Def.Name, v)
}

func (r *Request) finishParse(e *entry, seen uint64) error {
	for i := range r.Sequences {
		j := e.field([]byte(r.Sequences[i].ID))
		if j < 0 || !e.Fields[j].Sequence {
			if e.Loose {
				continue
			}
			return UnknownField(e.Name + "." + r.Sequences[i].ID)
		}
		seen |= 1 << j
	}
	if missing := e.required &^ seen; missing != 0 {
		for i := range e.Fields {
			if missing&(1<<i) != 0 {
				return MissingField(e.Name + "." + e.Fields[i].Name)
			}
		}
	}
	if r.Generic.APIStrict == BoolTrue {
		for i := range e.Fields {
			if seen&(1<<i) != 0 {
				if err := checkStrictField(&e.Fields[i], &r.Generic); err != nil {
					return err
				}
			}
		}
	}
	if err := r.Service.learnTime(r); err != nil {
		return err
	}
	if err := r.Service.checkRequiredAPI(&r.Generic); err != nil {
		return err
	}
	if err := r.checkTransaction(e.Definition); err != nil {
		return err
	}
	return r.Service.checkGeneric(e.Definition, &r.Generic)
}

// timeLimit returns after how many milliseconds a command ends, 0 for no limit. Its own maxTimeMS counts before the default of reads,
// also where it is 0.
func (s *Service) timeLimit(e *entry, req *Request) int64 {
	switch {
	case e.OwnMaxTime:
		return 0
	case req.Generic.HasMaxTime || !e.TimedRead || req.mayWrite():
		return req.Generic.MaxTimeMillis
	}
	return s.readLimit.Load().millis
}

// enterWrites waits until the request may write. In a transaction, which would hold its locks
// meanwhile, it waits no longer than maxTransactionLockRequestTimeoutMillis; a negative one is no
// limit.
func (s *Service) enterWrites(req *Request) error {
	limit := s.switches.lockMillis.Load()
	if !req.Generic.inTransaction() || limit < 0 || !s.Gate.Locked() {
		return s.Gate.enter(req.Op, req.Op.SetWaiting)
	}
	ctx, cancel := context.WithTimeout(req.Op, time.Duration(limit)*time.Millisecond)
	defer cancel()
	err := s.Gate.enter(ctx, req.Op.SetWaiting)
	if errors.Is(err, context.DeadlineExceeded) && req.Op.Err() == nil {
		return mongoerr.New(mongoerr.LockTimeout, "Unable to acquire IX lock on '{%s: Global}' within %dms.", req.DB, limit)
	}
	return err
}
