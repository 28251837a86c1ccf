package command

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// changeStreamOptions is the cluster parameter that there is; its values are kept where MongoDB keeps them.
const (
	changeStreamOptions = "changeStreamOptions"
	clusterParameters   = "clusterParameters"
)

// imagePolicy says how long change streams show versions of documents before changes. It is immutable.
type imagePolicy struct {
	// after is for how long; 0 is as long as the log has them.
	after time.Duration
	at    storage.Stamp // of the change
}

func clusterParameterCommands() []Definition {
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

func errUnknownParameter(name string) error {
	return mongoerr.New(mongoerr.NoSuchKey, "Unknown server parameter: %s", name)
}

func (r *Request) checkMember() error {
	if r.Service.replicates() {
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
		names[0] = changeStreamOptions
	}
	if i := slices.IndexFunc(names, func(name string) bool { return name != changeStreamOptions }); i >= 0 {
		return errUnknownParameter(names[i])
	}
	reply.StartArrayField(clusterParameters)
	for range names {
		reply.Elem(bsonx.Document(req.Service.images.Load().document()))
	}
	reply.End()
	return nil
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
	switch {
	case string(param.Key) != changeStreamOptions:
		return errUnknownParameter(string(param.Key))
	case param.Value.Type != bsonx.TypeDocument:
		return mongoerr.New(mongoerr.IllegalOperation, "Cluster parameter value must be an object")
	}
	next, err := parseImagePolicy(param.Value.Doc())
	if err != nil {
		return err
	}
	s := req.Service
	next.at = s.order.Take(s.stampNow())
	if err := s.saveSetting(ctx, clusterParameters, next.document()); err != nil {
		return err
	}
	s.images.Store(next)
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
func parseImagePolicy(doc bsonx.Doc) (*imagePolicy, error) {
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
		return &imagePolicy{}, nil
	}
	n := saturatingInt64(expire)
	if n <= 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "Numeric value of 'expireAfterSeconds' should be positive")
	}
	return &imagePolicy{after: time.Duration(min(n, maxExpiry)) * time.Second}, nil
}

// maxExpiry is the longest time in seconds that is kept, 200 years.
const maxExpiry = 200 * 366 * 24 * 60 * 60

// document returns the parameter as it is shown and kept.
func (p *imagePolicy) document() bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("_id", changeStreamOptions)
	b.Value("clusterParameterTime", timestamp(p.at))
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
	if s.Store == nil || !s.replicates() {
		return nil
	}
	doc, err := s.setting(clusterParameters, changeStreamOptions)
	if err != nil || doc == nil {
		return err
	}
	if p, err := parseImagePolicy(doc.Without("_id", "clusterParameterTime")); err == nil {
		p.at = stampOf(doc.Lookup("clusterParameterTime"))
		s.images.Store(p)
	}
	return nil
}
