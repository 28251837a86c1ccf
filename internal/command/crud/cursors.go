package crud

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
)

// CursorCommands returns the definition of killCursors.
func CursorCommands() []command.Definition {
	return []command.Definition{{
		Name: "killCursors", Help: "Closes cursors.",
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.No,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Fields: []command.Field{{Name: "cursors", Type: command.Array, Required: true}},
		Run:    runKillCursors, OnCursors: true,
		InTransaction: command.TransactionRules{
			NotFirst: "Cannot run killCursors as the first operation in a multi-document transaction.",
		},
	}}
}

func runKillCursors(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	if _, err := req.Collection(); err != nil {
		return err
	}
	values := slices.DeleteFunc(req.Get("cursors").Doc().Values(), command.IsAbsent)
	for i, v := range values {
		if v.Type != bsonx.TypeInt64 {
			return command.WrongType("killCursors.cursors."+bsonx.IndexKey(i), v.Type, command.Long)
		}
	}
	var killed, notFound, alive []bsonx.Value
	for _, v := range values {
		ok, err := req.Service.Cursors.Kill(v.Int64(), req.Owner())
		switch {
		case err != nil:
			alive = append(alive, v)
		case ok:
			killed = append(killed, v)
		default:
			notFound = append(notFound, v)
		}
	}
	for _, list := range [...]struct {
		name string
		ids  []bsonx.Value
	}{{"cursorsKilled", killed}, {"cursorsNotFound", notFound}, {"cursorsAlive", alive}, {"cursorsUnknown", nil}} {
		reply.StartArrayField(list.name)
		for _, id := range list.ids {
			reply.Elem(id)
		}
		reply.End()
	}
	return nil
}
