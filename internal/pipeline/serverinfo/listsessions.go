package serverinfo

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// ListSessionsDefinition returns the definition of $listSessions.
func ListSessionsDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$listSessions", Parse: parseListSessions,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.No, StableAPI: parsing.NoUse},
		Properties: parsing.OfReport(parsing.FromCollection), Inside: parsing.InsideNothing,
	}
}

// parseListSessions compiles $listSessions, which lists the sessions of config.system.sessions.
func parseListSessions(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	return parseSessionList(&stage{Name: "$listSessions", report: source.Diagnostics.ListSessions}, arg)
}

// ListLocalSessionsDefinition returns the definition of $listLocalSessions.
func ListLocalSessionsDefinition() parsing.Definition {
	return parsing.Definition{
		Name: "$listLocalSessions", Parse: parseListLocalSessions,
		Safety:     parsing.Safety{Writes: feature.No, Transactions: feature.No, StableAPI: parsing.NoUse},
		Properties: parsing.OfReport(parsing.FromServer), Inside: parsing.InsideNothing,
	}
}

// parseListLocalSessions compiles $listLocalSessions, which lists the sessions that the server
// keeps in memory.
func parseListLocalSessions(arg bsonx.Value, _ parsing.Options) ([]parsing.Stage, error) {
	return parseSessionList(&stage{Name: "$listLocalSessions", report: source.Diagnostics.ListLocalSessions}, arg)
}

// checkSessionUser returns an error unless v, element i of the array at path, has the form {user,
// db}.
func checkSessionUser(path string, i int, v bsonx.Value) error {
	if v.Type != bsonx.TypeDocument {
		return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%d' is the wrong type '%s', expected type 'object'", path, i, v.Type)
	}
	isString := []bsonx.Type{bsonx.TypeString}
	if err := checkArguments(path, v.Doc(), map[string][]bsonx.Type{"user": isString, "db": isString}); err != nil {
		return err
	}
	for _, name := range []string{"db", "user"} {
		if v.Doc().Lookup(name).IsMissing() {
			return mongoerr.New(mongoerr.IDLFailedToParse,
				"BSON field '%s.%s' is missing but a required field", path, name)
		}
	}
	return nil
}

// parseSessionList checks and sets the argument of a stage that lists sessions.
func parseSessionList(s *stage, arg bsonx.Value) ([]parsing.Stage, error) {
	name := s.Name
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"%s options must be specified in an object, but found: %s", name, arg.Type)
	}
	s.Arg = arg.Doc().Clone()
	err := checkArguments(name, s.Arg,
		map[string][]bsonx.Type{"allUsers": isFlag, "users": {bsonx.TypeArray}, "$_internalPredicate": isObject})
	if err != nil {
		return nil, err
	}
	users := s.Arg.Lookup("users")
	for i, user := range users.Doc().Values() {
		if err := checkSessionUser(name+".users", i, user); err != nil {
			return nil, err
		}
	}
	if s.Arg.Lookup("allUsers").Truthy() && len(users.Doc().Values()) > 0 {
		return nil, mongoerr.New(mongoerr.UnsupportedFormat, "%s may not specify {allUsers:true} and {users:[...]} at the same time", name)
	}
	return []parsing.Stage{s}, nil
}
