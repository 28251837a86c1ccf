package command

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// cursorCommands returns killCursors; getMore stands beside find.
func cursorCommands() []Definition {
	return []Definition{{
		Name: "killCursors", Help: "Closes cursors.", API1: true, InTransaction: true,
		Fields: []Field{{Name: "cursors", Type: Array, Required: true}},
		Run:    runKillCursors,
	}}
}

func runKillCursors(_ context.Context, req *Request, reply *bsonx.Builder) error {
	if _, err := req.Collection(); err != nil {
		return err
	}
	values := slices.DeleteFunc(req.Get("cursors").Doc().Values(), absent)
	for i, v := range values {
		if v.Type != bsonx.TypeInt64 {
			return WrongType("killCursors.cursors."+bsonx.IndexKey(i), v.Type, Long)
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
