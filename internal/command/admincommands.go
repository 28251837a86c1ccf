package command

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// findClusterParameter returns the parameter of a name.
func findClusterParameter(name string) (*clusterParameter, error) {
	for i := range clusterTable {
		if clusterTable[i].name == name {
			return &clusterTable[i], nil
		}
	}
	return nil, mongoerr.New(mongoerr.NoSuchKey, "Unknown server parameter: %s", name)
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

// RWDefaultsCommands returns the definitions of getDefaultRWConcern and setDefaultRWConcern.
func RWDefaultsCommands() []Definition {
	return []Definition{
		{
			Name: "getDefaultRWConcern", Help: "Tells the default read and write concern.", AdminOnly: true,
			Fields: []Field{{Name: "inMemory", Type: SafeBool}}, Run: runGetDefaultRWConcern,
		},
		{
			Name: "setDefaultRWConcern", Help: "Sets the default read and write concern.", AdminOnly: true, Write: true,
			Fields: []Field{{Name: "defaultReadConcern", Type: Object}, {Name: "defaultWriteConcern", Type: Object}},
			Run:    runSetDefaultRWConcern,
		},
	}
}

func (s *Service) checkReplicated(name string) error {
	if s.Replicates() {
		return nil
	}
	return mongoerr.New(codeNotReplicated, "'%s' is not supported on standalone nodes.", name)
}

func runGetDefaultRWConcern(_ context.Context, req *Request, reply *bsonx.Builder) error {
	if err := req.Service.checkReplicated(req.Name); err != nil {
		return err
	}
	req.Service.rwDefaults.Load().append(req.Service, reply)
	if req.Bool("inMemory") {
		reply.Bool("inMemory", true)
	}
	return nil
}

func runSetDefaultRWConcern(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	s := req.Service
	if err := s.checkReplicated(req.Name); err != nil {
		return err
	}
	next := *s.rwDefaults.Load()
	read, write := req.Doc("defaultReadConcern"), req.Doc("defaultWriteConcern")
	if read == nil && write == nil {
		return mongoerr.New(mongoerr.BadValue,
			"At least one of the \"defaultReadConcern\" or \"defaultWriteConcern\" fields must be present")
	}
	if err := next.setRead(read); err != nil {
		return err
	}
	if err := next.setWrite(write); err != nil {
		return err
	}
	next.at, next.wall, next.local = s.Order.Take(s.stampNow()), req.Now, req.Now
	if err := req.saveSetting(ctx, defaultsCollection, next.document()); err != nil {
		return err
	}
	s.rwDefaults.Store(&next)
	next.append(s, reply)
	return nil
}

// saveSetting makes a document durable; one with its _id is replaced. The request learns the stamp of
// the commit.
func (r *Request) saveSetting(ctx context.Context, collection string, doc bsonx.Doc) error {
	s := r.Service
	if s.Store == nil {
		return nil
	}
	for {
		c, err := schema.Ensure(s.Store, settingsDB, collection)
		if err != nil {
			return err
		}
		stamp, err := s.replaceSetting(ctx, c, doc)
		if !errors.Is(err, table.ErrDropped) {
			r.Op.Stamp = max(r.Op.Stamp, stamp)
			return err
		}
	}
}

func (s *Service) replaceSetting(ctx context.Context, c *table.Collection, doc bsonx.Doc) (storage.Stamp, error) {
	w, err := s.Store.BeginWrite(c)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	key := w.Collection().RecordKey(nil, doc.Lookup("_id"))
	old, err := w.Lock(ctx, key, nil)
	switch {
	case err != nil:
	case old == nil:
		err = w.Insert(ctx, doc)
	default:
		err = w.Update(ctx, key, old, doc, table.Replacement)
	}
	if err == nil {
		err = w.Commit(storage.Durable)
	}
	return w.Stamp(), err
}
