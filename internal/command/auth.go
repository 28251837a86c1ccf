package command

import "github.com/sheafdb/sheaf/internal/mongoerr"

// authCommands returns the commands of authentication that a server without users answers.
func authCommands() []Definition {
	return []Definition{
		{
			Name: "saslStart", Help: "Begins to authenticate.", NoAuth: true, Loose: true, Secret: true,
			Refuse: func(*Request) error { return errNoUsers() },
		},
		{
			Name: "saslContinue", Help: "Continues to authenticate.", NoAuth: true, Loose: true, Secret: true,
			Refuse: func(*Request) error {
				return mongoerr.New(mongoerr.ProtocolError, "No SASL session state found")
			},
		},
		{
			Name: "authenticate", Help: "Authenticates by certificate.", NoAuth: true, Loose: true, Secret: true,
			Refuse: func(*Request) error { return errNoUsers() },
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
