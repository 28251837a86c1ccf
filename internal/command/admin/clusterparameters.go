package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// findClusterParameter returns the cluster parameter with this name, or an error if it does not
// exist.
func findClusterParameter(name string) (*command.ClusterParameter, error) {
	for i := range command.ClusterTable {
		if command.ClusterTable[i].Name == name {
			return &command.ClusterTable[i], nil
		}
	}
	return nil, mongoerr.New(mongoerr.NoSuchKey, "Unknown server parameter: %s", name)
}

// ClusterParameterCommands returns the definitions of getClusterParameter and setClusterParameter.
func ClusterParameterCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "getClusterParameter", Help: "Reads parameters of the replica set.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			CommandField: command.StringOr(bsonx.TypeArray), Run: runGetClusterParameter,
		},
		{
			Name: "setClusterParameter", Help: "Sets a parameter of the replica set.",
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			CommandField: command.Object, Run: runSetClusterParameter,
		},
	}
}

func checkMember(r *command.Request) error {
	if r.Service.Replicates() {
		return nil
	}
	return mongoerr.New(mongoerr.IllegalOperation, "%s cannot be run on standalones", r.Def.Name)
}

func runGetClusterParameter(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	if err := checkMember(req); err != nil {
		return err
	}
	names := []string{req.CommandValue().Str()}
	if v := req.CommandValue(); v.Type == bsonx.TypeArray {
		names = names[:0]
		for it := v.Doc().Iter(); it.Next(); {
			name := it.Value()
			if name.Type != bsonx.TypeString {
				return command.WrongType(req.Def.Name+"."+req.Def.Name+"."+string(it.Key()), name.Type, command.String)
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
		values[i] = p.Value(req.Service).Document()
	}
	reply.StartArrayField(command.ClusterParameters)
	for _, v := range values {
		reply.Elem(bsonx.Document(v))
	}
	reply.End()
	return nil
}

func allClusterParameters() []string {
	names := make([]string, len(command.ClusterTable))
	for i := range command.ClusterTable {
		names[i] = command.ClusterTable[i].Name
	}
	return names
}

func runSetClusterParameter(ctx context.Context, req *command.Request, _ *bsonx.Builder) error {
	if err := checkMember(req); err != nil {
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
	next, err := p.Parse(param.Value.Doc(), s.Order.Take(s.StampNow()))
	if err != nil {
		return err
	}
	if err := saveSetting(ctx, req, command.ClusterParameters, next.Document()); err != nil {
		return err
	}
	next.Hold(s)
	return nil
}
