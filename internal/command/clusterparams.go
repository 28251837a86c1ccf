package command

import (
	"context"
	"errors"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// The cluster parameters; their values are kept where MongoDB keeps them.
const (
	changeStreamOptions = "changeStreamOptions"
	defaultMaxTime      = "defaultMaxTimeMS"
	clusterParameters   = "clusterParameters"
)

// clusterParameter is a parameter of all members.
type clusterParameter struct {
	name string
	// parse reads a value that is set at a time.
	parse func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error)
	// value returns the one that holds.
	value func(s *Service) clusterValue
}

// clusterValue is the value of a cluster parameter. It is immutable.
type clusterValue interface {
	// document is the value as it is shown and kept.
	document() bsonx.Doc
	// hold makes the value the one that holds.
	hold(s *Service)
}

var clusterTable = [...]clusterParameter{
	{
		changeStreamOptions, func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error) { return parseImagePolicy(doc, at) },
		func(s *Service) clusterValue { return s.images.Load() },
	},
	{
		defaultMaxTime, func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error) { return parseReadLimit(doc, at) },
		func(s *Service) clusterValue { return s.ReadLimit.Load() },
	},
}

// findClusterParameter returns the parameter of a name.
func findClusterParameter(name string) (*clusterParameter, error) {
	for i := range clusterTable {
		if clusterTable[i].name == name {
			return &clusterTable[i], nil
		}
	}
	return nil, mongoerr.New(mongoerr.NoSuchKey, "Unknown server parameter: %s", name)
}

// imagePolicy says how long change streams show versions of documents before changes. It is immutable.
type imagePolicy struct {
	// after is for how long; 0 is as long as the log has them.
	after time.Duration
	at    storage.Stamp // of the change
}

// ClusterParameterCommands returns the definitions of getClusterParameter and setClusterParameter.
func ClusterParameterCommands() []Definition {
	return []Definition{
		{
			Name: "getClusterParameter", Help: "Reads parameters of the replica set.", AdminOnly: true,
			CommandField: StringOr(bsonx.TypeArray), Run: runGetClusterParameter,
		},
		{
			Name: "setClusterParameter", Help: "Sets a parameter of the replica set.", AdminOnly: true, Write: true,
			CommandField: Object, Run: runSetClusterParameter,
		},
	}
}

func (r *Request) checkMember() error {
	if r.Service.Replicates() {
		return nil
	}
	return mongoerr.New(mongoerr.IllegalOperation, "%s cannot be run on standalones", r.Def.Name)
}

func runGetClusterParameter(_ context.Context, req *Request, reply *bsonx.Builder) error {
	if err := req.checkMember(); err != nil {
		return err
	}
	names := []string{req.CommandValue().Str()}
	if v := req.CommandValue(); v.Type == bsonx.TypeArray {
		names = names[:0]
		for it := v.Doc().Iter(); it.Next(); {
			name := it.Value()
			if name.Type != bsonx.TypeString {
				return WrongType(req.Def.Name+"."+req.Def.Name+"."+string(it.Key()), name.Type, String)
			}
			names = append(names, name.Str())
		}
		if len(names) == 0 {
			return mongoerr.New(mongoerr.BadValue, "Must supply at least one cluster server parameter name to getClusterParameter")
		}
	} else if names[0] == "*" {
		names = allClusterParameters()
	}
	values := make([]bsonx.Doc, len(names))
	for i, name := range names {
		p, err := findClusterParameter(name)
		if err != nil {
			return err
		}
		values[i] = p.value(req.Service).document()
	}
	reply.StartArrayField(clusterParameters)
	for _, v := range values {
		reply.Elem(bsonx.Document(v))
	}
	reply.End()
	return nil
}

func allClusterParameters() []string {
	names := make([]string, len(clusterTable))
	for i := range clusterTable {
		names[i] = clusterTable[i].name
	}
	return names
}

func runSetClusterParameter(ctx context.Context, req *Request, _ *bsonx.Builder) error {
	if err := req.checkMember(); err != nil {
		return err
	}
	doc := req.CommandValue().Doc()
	switch {
	case doc.IsEmpty():
		return mongoerr.New(mongoerr.NoSuchKey, "No cluster parameter provided")
	case doc.Len() > 1:
		return mongoerr.New(mongoerr.InvalidOptions, "%s only supports setting exactly one parameter", req.Def.Name)
	}
	param := doc.First()
	p, err := findClusterParameter(string(param.Key))
	switch {
	case err != nil:
		return err
	case param.Value.Type != bsonx.TypeDocument:
		return mongoerr.New(mongoerr.IllegalOperation, "Cluster parameter value must be an object")
	}
	s := req.Service
	next, err := p.parse(param.Value.Doc(), s.Order.Take(s.stampNow()))
	if err != nil {
		return err
	}
	if err := req.saveSetting(ctx, clusterParameters, next.document()); err != nil {
		return err
	}
	next.hold(s)
	return nil
}

var (
	changeStreamFields = []Field{{Name: "preAndPostImages", Type: Object, Required: true}}
	expiryFields       = []Field{{
		Name: "expireAfterSeconds", Required: true,
		Type: OneOf(bsonx.TypeString, bsonx.TypeInt64, bsonx.TypeInt32, bsonx.TypeDecimal128, bsonx.TypeDouble),
	}}
)

// parseImagePolicy reads a value of changeStreamOptions.
func parseImagePolicy(doc bsonx.Doc, at storage.Stamp) (*imagePolicy, error) {
	var expire bsonx.Value
	err := ParseFields(changeStreamOptions, doc, changeStreamFields, func(_ int, v bsonx.Value) error {
		return ParseFields(changeStreamOptions+".preAndPostImages", v.Doc(), expiryFields, func(_ int, v bsonx.Value) error {
			expire = v
			return nil
		})
	})
	var malformed *mongoerr.Error
	if errors.As(err, &malformed) {
		return nil, mongoerr.New(mongoerr.BadValue, "Failed parsing new changeStreamOptions value: %s", malformed.Message)
	}
	if expire.Type == bsonx.TypeString {
		if expire.Str() != "off" {
			return nil, mongoerr.New(mongoerr.BadValue, "Non-numeric value of 'expireAfterSeconds' should be 'off'")
		}
		return &imagePolicy{at: at}, nil
	}
	n := bsonx.SaturatingInt64(expire)
	if n <= 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "Numeric value of 'expireAfterSeconds' should be positive")
	}
	return &imagePolicy{after: time.Duration(min(n, maxExpiry)) * time.Second, at: at}, nil
}

// maxExpiry is the longest time in seconds that is kept, 200 years.
const maxExpiry = 200 * 366 * 24 * 60 * 60

// hold implements clusterValue.
func (p *imagePolicy) hold(s *Service) { s.images.Store(p) }

// document implements clusterValue.
func (p *imagePolicy) document() bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("_id", changeStreamOptions)
	b.Value("clusterParameterTime", oplog.Timestamp(p.at))
	b.StartDocField("preAndPostImages")
	if p.after == 0 {
		b.String("expireAfterSeconds", "off")
	} else {
		b.Int64("expireAfterSeconds", int64(p.after/time.Second))
	}
	b.End()
	b.End()
	return b.Bytes()
}

// expired reports whether a version that was kept at a time is no longer shown.
func (p *imagePolicy) expired(kept, now time.Time) bool {
	return p.after > 0 && now.Sub(kept) > p.after
}

// loadClusterParameters reads what was set in an earlier life. What is no longer valid counts as not set.
func (s *Service) loadClusterParameters() error {
	s.images.Store(&imagePolicy{})
	s.ReadLimit.Store(&readLimit{})
	if s.Store == nil || !s.Replicates() {
		return nil
	}
	for _, p := range clusterTable {
		doc, err := s.setting(clusterParameters, p.name)
		if err != nil {
			return err
		}
		if doc == nil {
			continue
		}
		at := stampOf(doc.Lookup("clusterParameterTime"))
		if v, err := p.parse(doc.Without("_id", "clusterParameterTime"), at); err == nil {
			v.hold(s)
		}
	}
	return nil
}
