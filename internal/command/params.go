package command

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/param"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
)

// builtinParams are the parameters of this package and those that clients ask every server for.
func (s *Service) builtinParams() []param.Param {
	fcv := bsonx.Document(bsonx.NewDoc("version", FeatureVersion))
	return []param.Param{
		param.Constant("featureCompatibilityVersion", fcv),
		param.Constant("authenticationMechanisms", bsonx.NewArray()),
		param.Constant("enableTestCommands", bsonx.Bool(s.TestCommands)),
		param.Enum(QueryFrameworkParam, "forceClassicEngine", "trySbeRestricted", "trySbeEngine"),
		param.Bool(CollationRegexParam, true, func(ignore bool) {
			if s.Planner != nil {
				s.Planner.SetCollatedRegex(!ignore)
			}
		}),
		param.Constant("localLogicalSessionTimeoutMinutes", bsonx.Int32(30)),
		{Name: "maxSessions", Get: func() bsonx.Value { return bsonx.Int32(int32(s.Sessions.Max())) }},
		param.Int("transactionLifetimeLimitSeconds", int64(session.DefaultLifetime/time.Second), 1, 1<<31-1, func(n int64) {
			s.Transactions.SetLifetime(time.Duration(n) * time.Second)
		}),
		param.Int("transactionSizeLimitBytes", defaultTransactionSize, 1, 1<<62, s.TransactionSize.Store),
		param.Int("cursorTimeoutMillis", 600_000, 1, 1<<53, func(n int64) {
			s.Cursors.SetIdleTimeout(time.Duration(min(n, 1<<43)) * time.Millisecond)
		}),
		param.Int("slowms", s.SlowMillis, -1, 1<<53, s.SetSlowMillis),
		param.Int("maxAcceptableLogicalClockDriftSecs", maxClockDrift, 1, 1<<31-1, s.maxClockDrift.Store),
		param.Int("minSnapshotHistoryWindowInSeconds", read.SnapshotWindow, 0, 1<<31-1, s.setHistoryWindow),
	}
}

// ParameterCommands returns getParameter and setParameter.
func ParameterCommands() []Definition {
	return []Definition{
		{Name: "getParameter", Help: "Reads server parameters.", AdminOnly: true, Loose: true, Run: runGetParameter},
		{Name: "setParameter", Help: "Changes server parameters.", AdminOnly: true, Loose: true, Run: runSetParameter},
	}
}

// getParameterFields are the fields of a document that is the value of getParameter.
var getParameterFields = []Field{{Name: "showDetails", Type: SafeBool}, {Name: "allParameters", Type: SafeBool}, {Name: "setAt", Type: String}}

func runGetParameter(_ context.Context, req *Request, reply *bsonx.Builder) error {
	v := req.CommandValue()
	all := v.Type == bsonx.TypeString && v.Str() == "*"
	details := false
	if v.Type == bsonx.TypeDocument {
		err := ParseFields("getParameter", v.Doc(), getParameterFields, func(i int, v bsonx.Value) error {
			switch getParameterFields[i].Name {
			case "showDetails":
				details = v.Truthy()
			case "allParameters":
				all = v.Truthy()
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	names := req.Service.Params.Names()
	if !all {
		names = names[:0]
		for _, a := range req.Args() {
			names = append(names, string(a.Key))
		}
	}
	found := false
	for _, name := range names {
		p, ok := req.Service.Params.Lookup(name)
		if !ok || p.TestOnly && !req.Service.TestCommands {
			continue
		}
		found = true
		p.Append(reply, details)
	}
	if !found {
		return mongoerr.New(mongoerr.InvalidOptions, "no option found to get")
	}
	return nil
}

func runSetParameter(_ context.Context, req *Request, reply *bsonx.Builder) error {
	args := req.Args()
	if len(args) == 0 {
		return mongoerr.New(mongoerr.InvalidOptions, "no option found to set, use help:true to see options ")
	}
	for i, a := range args {
		p, ok := req.Service.Params.Lookup(string(a.Key))
		if !ok {
			return mongoerr.New(mongoerr.InvalidOptions, "attempted to set unrecognized parameter [%s], use help:true to see options ", a.Key)
		}
		if p.Set == nil {
			return mongoerr.New(mongoerr.IllegalOperation, "not allowed to change [%s] at runtime", a.Key)
		}
		was := p.Get()
		if err := p.Set(a.Value); err != nil {
			return err
		}
		if i == 0 {
			reply.Value("was", was)
		}
	}
	return nil
}

// defaultTransactionSize is how many bytes a transaction may change where nothing else is said: they are kept in memory until
// it ends.
const defaultTransactionSize = 256 << 20
