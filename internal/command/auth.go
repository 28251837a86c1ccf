package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// authCommands returns the commands of authentication that a server without users answers.
func authCommands() []Definition {
	return []Definition{
		{
			Name: "saslStart", Help: "Begins to authenticate.", NoAuth: true, Loose: true, Secret: true,
			Run: func(context.Context, *Request, *bsonx.Builder) error { return errNoUsers() },
		},
		{
			Name: "saslContinue", Help: "Continues to authenticate.", NoAuth: true, Loose: true, Secret: true,
			Run: func(context.Context, *Request, *bsonx.Builder) error {
				return mongoerr.New(mongoerr.ProtocolError, "No SASL session state found")
			},
		},
		{
			Name: "authenticate", Help: "Authenticates by certificate.", NoAuth: true, Loose: true, Secret: true,
			Run: func(context.Context, *Request, *bsonx.Builder) error { return errNoUsers() },
		},
		{Name: "logout", Help: "Forgets who is authenticated.", NoAuth: true, Run: runPing},
		{
			Name: "getnonce", Help: "Was removed from MongoDB.", Status: Absent, Hidden: true,
		},
	}
}

func errNoUsers() error {
	return mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed.")
}
