package server

import (
	"context"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/command"
)

func newTestServer(tb testing.TB, defs ...command.Definition) *Server {
	tb.Helper()
	svc, err := command.NewService(command.Deps{Definitions: defs, TestCommands: true})
	if err != nil {
		tb.Fatal(err)
	}
	srv := New(Options{Service: svc})
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			tb.Error(err)
		}
	})
	return srv
}
