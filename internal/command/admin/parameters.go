package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// ParameterCommands returns the definitions of getParameter and setParameter.
func ParameterCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "getParameter", Help: "Reads server parameters.", Loose: true, Run: runGetParameter,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
		{
			Name: "setParameter", Help: "Changes server parameters.",
			Loose: true, Run: runSetParameter,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
	}
}

// getParameterFields are the fields of getParameter's own value if it is a document.
var getParameterFields = []command.Field{
	{Name: "showDetails", Type: command.SafeBool},
	{Name: "allParameters", Type: command.SafeBool},
	{Name: "setAt", Type: command.String},
}

func runGetParameter(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	v := req.CommandValue()
	all := v.Type == bsonx.TypeString && v.Str() == "*"
	details := false
	if v.Type == bsonx.TypeDocument {
		err := command.ParseFields("getParameter", v.Doc(), getParameterFields, func(i int, v bsonx.Value) error {
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

func runSetParameter(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
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
