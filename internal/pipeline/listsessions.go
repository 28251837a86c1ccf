package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// parseListSessions compiles $listSessions, which lists the sessions of config.system.sessions.
func parseListSessions(arg bsonx.Value, _ Options) ([]stage, error) {
	return parseSessionList("$listSessions", arg)
}

// parseListLocalSessions compiles $listLocalSessions, which lists the sessions that the server keeps in memory.
func parseListLocalSessions(arg bsonx.Value, _ Options) ([]stage, error) {
	return parseSessionList("$listLocalSessions", arg)
}

func parseSessionList(name string, arg bsonx.Value) ([]stage, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "%s options must be specified in an object, but found: %s", name, arg.Type)
	}
	spec := arg.Doc().Clone()
	err := checkArguments(name, spec, map[string][]bsonx.Type{"allUsers": isFlag, "users": {bsonx.TypeArray}, "$_internalPredicate": isObject})
	if err != nil {
		return nil, err
	}
	users := spec.Lookup("users")
	for _, user := range users.Doc().Values() {
		if user.Type != bsonx.TypeDocument || user.Doc().Lookup("user").Type != bsonx.TypeString || user.Doc().Lookup("db").Type != bsonx.TypeString {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "the users of %s must be objects of a user and a db", name)
		}
	}
	if spec.Lookup("allUsers").Truthy() && len(users.Doc().Values()) > 0 {
		return nil, mongoerr.New(codeUnsupportedFormat, "%s may not specify {allUsers:true} and {users:[...]} at the same time", name)
	}
	return []stage{&diagnostics{name, spec}}, nil
}

// codeUnsupportedFormat is MongoDB's UnsupportedFormat.
const codeUnsupportedFormat = mongoerr.Code(12)
