package admin

import (
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// AuthCommands returns the authentication commands. Authentication fails, because the server has no
// users.
func AuthCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "saslStart", Help: "Begins to authenticate.", NoAuth: true, Loose: true,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.Yes, AdminOnly: feature.No,
			},
			Refuse: func(*command.Request) error { return errNoUsers() },
		},
		{
			Name: "saslContinue", Help: "Continues to authenticate.", NoAuth: true, Loose: true,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.Yes, AdminOnly: feature.No,
			},
			Refuse: func(*command.Request) error {
				return mongoerr.New(mongoerr.ProtocolError, "No SASL session state found")
			},
		},
		{
			Name: "authenticate", Help: "Authenticates by certificate.", NoAuth: true, Loose: true,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.Yes, AdminOnly: feature.No,
			},
			Refuse: func(*command.Request) error { return errNoUsers() },
		},
		{
			Name: "logout", Help: "Forgets who is authenticated.", NoAuth: true, Run: runPing,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "getnonce", Help: "Was removed from MongoDB.", Status: feature.Absent, Hidden: true,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
	}
}

func errNoUsers() error {
	return mongoerr.New(mongoerr.AuthenticationFailed, "Authentication failed.")
}
